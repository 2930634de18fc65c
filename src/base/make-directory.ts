import { mkdirSync, statSync } from 'node:fs'
import path from 'node:path'

/**
 * Creates a directory and its missing parents. Throws the system's error if a directory cannot be created, for example
 * below /proc. In this case, Node's own recursive function would never return.
 */
export const makeDirectory = (wanted: string, mode = 0o777): void => {
  // Resolves `..`, so that no directory is created before a `..`.
  const directory = path.resolve(wanted)
  try {
    makeOne(directory, mode)
  } catch (error) {
    const parent = path.dirname(directory)
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || parent === directory) throw error
    makeDirectory(parent, mode)
    makeOne(directory, mode)
  }
}

const makeOne = (directory: string, mode: number): void => {
  try {
    mkdirSync(directory, { mode })
  } catch (error) {
    if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) throw error
  }
}
