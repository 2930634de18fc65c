import { renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'

/**
 * Replaces a file atomically with a new file of this mode. Neither the mode of the old file nor the target of a link
 * can then expose the content. A device or a pipe is written to and stays. Throws a system error.
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
    // Does not follow a link that appears in the meantime.
    writeFileSync(draft, content, { mode, flag: 'wx', flush: true })
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

/** Replaces a file atomically with what `write` writes, readable only by its owner. Rejects with the error of `write`. */
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
