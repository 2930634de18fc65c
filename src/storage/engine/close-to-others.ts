import { chmod, lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDirectory } from '../../base/make-directory.js'
import { absent } from './durable-file.js'

const OTHERS = 0o077

/** Ignores the error of a mode change: the volume may belong to another user, or the file may be gone. */
const ownedByOthers = (_: unknown): undefined => undefined

/**
 * Restricts a directory and its files to their owner. LevelDB and earlier versions create them readable for all users.
 * With `mayMake`, creates the directory if it is missing.
 */
export const closeToOthers = async (directory: string, mayMake: boolean): Promise<void> => {
  if (mayMake) makeDirectory(directory, 0o700)
  const found = await lstat(directory).catch(absent)
  if (!found?.isDirectory()) return
  if ((found.mode & OTHERS) !== 0) await chmod(directory, 0o700).catch(ownedByOthers)
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const file = join(directory, entry.name)
    // A file that is replaced in the meantime has the mode that its creator set.
    const facts = entry.isFile() ? await lstat(file).catch(absent) : undefined
    if (facts?.isFile() && (facts.mode & OTHERS) !== 0) await chmod(file, 0o600).catch(ownedByOthers)
  }
}
