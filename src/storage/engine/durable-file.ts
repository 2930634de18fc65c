import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Handles the error of an optional file: returns undefined if the file does not exist, and rethrows any other error.
 */
export const absent = (error: NodeJS.ErrnoException): undefined => {
  if (error.code !== 'ENOENT') throw error
}

/** Makes the names in a directory survive a power loss. */
export const syncDirectory = async (directory: string): Promise<void> => {
  await using handle = await open(directory, 'r')
  await handle.sync()
}

/** Replaces a small file atomically: after a crash it has either its old or its new content. */
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
