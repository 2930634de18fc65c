import { renameSync, rmSync, statSync, writeFileSync } from 'node:fs'

/**
 * Puts a new file with this mode in the place of a file, whole or not at all. So neither the mode of the former file nor the
 * target of a link lets others read the content. A device or a pipe is written into and stays. Throws the error of the system.
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
    // Follows no link that appears meanwhile.
    writeFileSync(draft, content, { mode, flag: 'wx', flush: true })
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}
