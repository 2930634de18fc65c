import { chmod, lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDirectory } from '../../base/make-directory.js'
import { absent } from './durable-file.js'

const OTHERS = 0o077

/** A volume may belong to another user, who decides about its modes; and a file may be gone. */
const ownedByOthers = (_: unknown): undefined => undefined

/**
 * Leaves a directory and the files in it to their owner alone: LevelDB makes both for everybody to read, and so did earlier
 * versions. `mayMake`: makes the directory where there is none.
 */
export const closeToOthers = async (directory: string, mayMake: boolean): Promise<void> => {
  if (mayMake) makeDirectory(directory, 0o700)
  const found = await lstat(directory).catch(absent)
  if (!found?.isDirectory()) return
  if ((found.mode & OTHERS) !== 0) await chmod(directory, 0o700).catch(ownedByOthers)
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const file = join(directory, entry.name)
    // A file that is replaced meanwhile has the mode that its creator gave it.
    const facts = entry.isFile() ? await lstat(file).catch(absent) : undefined
    if (facts?.isFile() && (facts.mode & OTHERS) !== 0) await chmod(file, 0o600).catch(ownedByOthers)
  }
}
