import { mkdirSync, statSync } from 'node:fs'
import path from 'node:path'

/**
 * Makes a directory and those above it, where they are not there. Node's own recursive call never returns where the system
 * makes none, as below /proc; this one throws what the system says.
 */
export const makeDirectory = (wanted: string, mode = 0o777): void => {
  // A directory that a `..` leaves again need not be made.
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
