import { lstatSync, mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

/**
 * Makes a directory in the temporary one, for data that ends with the process that made it. Its name holds the number of that
 * process, so that one which was left behind can be told from one that is used.
 */
export const makeTemporaryDirectory = (name: string, parent = tmpdir()): string =>
  mkdtempSync(path.join(parent, `understudy-${name}-${process.pid}-`))

const NAME = /^understudy-.+-(\d+)-[A-Za-z0-9]{6}$/

/** Directories of this user whose process is gone: it was killed before it could remove them. */
export const findLeftDirectories = (isRunning: (pid: number) => boolean, parent = tmpdir()): string[] => {
  try {
    return readdirSync(parent)
      .filter((name) => {
        const pid = NAME.exec(name)?.[1]
        return pid !== undefined && !isRunning(Number(pid))
      })
      .map((name) => path.join(parent, name))
      .filter(isOwn)
  } catch {
    return []
  }
}

const isOwn = (file: string): boolean => {
  const facts = lstatSync(file, { throwIfNoEntry: false })
  return facts?.isDirectory() === true && facts.uid === process.getuid?.()
}
