import { attempt } from './attempt.js'
import { lstatSync, mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

/**
 * Creates a directory in the temporary directory, for data of this process. Its name contains the process ID, so that
 * directories of ended processes can be found.
 */
export const makeTemporaryDirectory = (name: string, parent = tmpdir()): string =>
  mkdtempSync(path.join(parent, `understudy-${name}-${process.pid}-`))

const NAME = /^understudy-.+-(\d+)-[A-Za-z0-9]{6}$/

/** Returns the directories of this user whose process ended without removing them. */
export const findLeftDirectories = (isRunning: (pid: number) => boolean, parent = tmpdir()): string[] => {
  const found = attempt(() =>
    readdirSync(parent)
      .filter((name) => {
        const pid = NAME.exec(name)?.[1]
        return pid !== undefined && !isRunning(Number(pid))
      })
      .map((name) => path.join(parent, name))
      .filter(isOwn),
  )
  return found ?? []
}

const isOwn = (file: string): boolean => {
  const facts = lstatSync(file, { throwIfNoEntry: false })
  return facts?.isDirectory() === true && facts.uid === process.getuid?.()
}
