import { readdirSync, rmSync } from 'node:fs'
import { replaceFile } from '../../base/replace-file.js'
import path from 'node:path'
import { makeDirectory } from '../../base/make-directory.js'
import { inspect } from 'node:util'
import { systemClock } from '../../base/clock.js'
import { stateDirectory } from '../../lab/model/state-directory.js'
import { packageVersion } from '../../base/package-version.js'
import { messageOf, printable } from '../../base/printable.js'

/** Maximum number of saved reports. A command that fails in a loop must not fill the disk. */
const REPORTS_MAX = 20

/** Returns one line about an unexpected error. Saves the stack trace to a file. */
export const describeUnexpected = (error: unknown): string => {
  const [text = ''] = messageOf(error).split('\n')
  return `unexpected: ${text}; ${saveDetails(error)}`
}

/** Saves the details to a file and returns where they are. Omits the command line, which may contain tokens. */
const saveDetails = (error: unknown): string => {
  const directory = path.join(stateDirectory(), 'errors')
  const time = new Date(systemClock.now()).toISOString()
  const file = path.join(directory, `${time.replaceAll(/[:.]/g, '-')}-${process.pid}.txt`)
  const system = `${process.platform} ${process.arch}`
  const text = [`understudy ${packageVersion()}, node ${process.version}, ${system}`, time, inspect(error), ''].join(
    '\n',
  )
  try {
    makeDirectory(directory, 0o700)
    replaceFile(file, text)
    removeOldest(directory)
    return `details are in ${file}. Run "understudy doctor" to check this machine. If it finds no problem, report the error with this file`
  } catch (problem) {
    return `details could not be saved: ${messageOf(problem)}`
  }
}

const removeOldest = (directory: string): void => {
  const files = readdirSync(directory).sort()
  for (const name of files.slice(0, Math.max(0, files.length - REPORTS_MAX))) rmSync(path.join(directory, name))
}

/** Makes an uncaught error end the program with one line. */
export const exitOnUncaughtError = (): void => {
  process.on('uncaughtException', (error) => {
    process.stderr.write(`understudy: ${printable(describeUnexpected(error))}\n`)
    process.exit(1)
  })
}
