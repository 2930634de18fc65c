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
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Replaces a small file atomically: after a crash it has either its old or its new content. */
export const writeFileDurably = async (path: string, text: string | Buffer): Promise<void> => {
  const temporary = `${path}.tmp`
  const file = await open(temporary, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(temporary, path)
  await syncDirectory(dirname(path))
}
