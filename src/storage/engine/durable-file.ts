import { chmod, lstat, open, readdir, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeDirectory } from '../../base/make-directory.js'

/**
 * Handles the error of an optional file: returns undefined if the file does not exist, and rethrows any other error.
 */
export const absent = (error: NodeJS.ErrnoException): undefined => {
  if (error.code !== 'ENOENT') throw error
}

/** Syncs a directory, so that created, renamed and removed files in it survive a power loss. */
export const syncDirectory = async (directory: string): Promise<void> => {
  await using handle = await open(directory, 'r')
  await handle.sync()
}

/** Replaces a file atomically and durably. After a crash, the file has either its old or its new content. */
export const writeFileDurably = async (path: string, text: string | Buffer): Promise<void> => {
  const temporary = `${path}.tmp`
  {
    await using file = await open(temporary, 'w', 0o600)
    await file.writeFile(text)
    await file.sync()
  }
  await rename(temporary, path)
  await syncDirectory(dirname(path))
}

const OTHERS = 0o077

/** Ignores the error of a mode change: the volume may belong to another user, or the file may no longer exist. */
const ownedByOthers = (_: unknown): undefined => undefined

/**
 * Restricts a directory and its files to their owner, because LevelDB and earlier versions of Understudy create files
 * that all users can read. With `mayMake`, creates the directory if it is missing.
 */
export const closeToOthers = async (directory: string, mayMake: boolean): Promise<void> => {
  if (mayMake) makeDirectory(directory, 0o700)
  const found = await lstat(directory).catch(absent)
  if (!found?.isDirectory()) return
  if ((found.mode & OTHERS) !== 0) await chmod(directory, 0o700).catch(ownedByOthers)
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const file = join(directory, entry.name)
    // If another process replaces the file after the check, the new file keeps the mode of its creator.
    const facts = entry.isFile() ? await lstat(file).catch(absent) : undefined
    if (facts?.isFile() && (facts.mode & OTHERS) !== 0) await chmod(file, 0o600).catch(ownedByOthers)
  }
}
