import { readdirSync, rmSync } from 'node:fs'
import { replaceFile } from '../../base/replace-file.js'
import path from 'node:path'
import { makeDirectory } from '../../base/make-directory.js'
import { inspect } from 'node:util'
import { systemClock } from '../../base/clock.js'
import { stateDirectory } from '../../lab/model/state-directory.js'
import { packageVersion } from '../../base/package-version.js'
import { printable } from '../../base/printable.js'

/** Reports that are kept, so that a command in a loop does not fill a disk. */
const KEPT_MAX = 20

/** One line about an error that nobody expected; where it came from goes to a file. */
export const describeUnexpected = (error: unknown): string => {
  const [text = ''] = (error instanceof Error ? error.message : String(error)).split('\n')
  return `unexpected: ${text}; ${keepDetails(error)}`
}

/** The command line itself stays out of it: tokens may stand there. */
const keepDetails = (error: unknown): string => {
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
    return `details are in ${file}. "understudy doctor" looks for what is wrong with this machine; else report it with that file`
  } catch (problem) {
    return `its details could not be kept: ${problem instanceof Error ? problem.message : String(problem)}`
  }
}

const removeOldest = (directory: string): void => {
  const files = readdirSync(directory).sort()
  for (const name of files.slice(0, Math.max(0, files.length - KEPT_MAX))) rmSync(path.join(directory, name))
}

/** An error that no command caught ends the program with one line as well. */
export const endOnMistakes = (): void => {
  process.on('uncaughtException', (error) => {
    process.stderr.write(`understudy: ${printable(describeUnexpected(error))}\n`)
    process.exit(1)
  })
}
