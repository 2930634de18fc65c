import { renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'

/**
 * Replaces a file atomically with a new file of this mode, so that neither the mode of the old file nor the target of a
 * link exposes the content. If the file is a device or a pipe, writes to it instead. Throws a system error.
 */
export const replaceFile = (file: string, content: string | Buffer, mode = 0o600): void => {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found && !found.isFile()) {
    writeFileSync(file, content)
    return
  }
  const draft = `${file}.${process.pid}`
  try {
    rmSync(draft, { force: true })
    // The flag `wx` prevents the write from following a link that appears in the meantime.
    writeFileSync(draft, content, { mode, flag: 'wx', flush: true })
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

/**
 * Replaces a file atomically with the content that `write` writes. Only the owner can read the file. Rejects with the
 * error of `write`.
 */
export const replaceFileBy = async <T>(file: string, write: (handle: FileHandle) => Promise<T>): Promise<T> => {
  const draft = `${file}.draft`
  const handle = await open(draft, 'w', 0o600)
  try {
    const written = await write(handle)
    await handle.sync()
    await handle.close()
    await rename(draft, file)
    return written
  } catch (error) {
    await handle.close().catch(() => undefined)
    await rm(draft, { force: true })
    throw error
  }
}
