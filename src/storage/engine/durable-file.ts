import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'

/** For what need not be there: undefined where it is not, and whatever else has failed is thrown. */
export const absent = (error: NodeJS.ErrnoException): undefined => {
  if (error.code !== 'ENOENT') throw error
}

/** Makes the names in a directory survive power loss. */
export const syncDirectory = async (directory: string): Promise<void> => {
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Replaces a small file so that at every moment, a crash included, it has its old content or its new one. */
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
