import { replaceFile } from '../../base/replace-file.js'
import path from 'node:path'
import { makeDirectory } from '../../base/make-directory.js'
import type { DrillResult } from '../drills/context/result.js'
import { LabError } from '../model/lab-error.js'
import { conceal } from '../texts/conceal.js'
import { toHtml } from './html.js'
import { toJunit } from './junit.js'

/** The files of a report. All contents are created before the first file is written. */
const FILES: readonly { readonly name: string; readonly make: (result: DrillResult) => string }[] = [
  { name: 'report.json', make: (result) => `${JSON.stringify(result, undefined, 2)}\n` },
  { name: 'junit.xml', make: toJunit },
  { name: 'report.html', make: toHtml },
]

/**
 * Writes the result of a drill into a directory, as JSON, JUnit XML and HTML, and returns the files. Removes tokens and key
 * shares from texts. Replaces an earlier report.
 */
export const writeReport = (directory: string, result: DrillResult): readonly string[] => {
  const fit = conceal(result)
  const files = FILES.map(({ name, make }) => ({ file: path.join(directory, name), text: make(fit) }))
  prepareReport(directory)
  for (const { file, text } of files) {
    try {
      replaceFile(file, text, 0o666)
    } catch (error) {
      throw new LabError('usage', `${file} cannot be written: ${reasonOf(error)}`, { cause: error })
    }
  }
  return files.map(({ file }) => file)
}

/** Creates the directory before the drill starts, so that an unwritable directory is detected early. */
export const prepareReport = (directory: string): void => {
  try {
    makeDirectory(directory)
  } catch (error) {
    throw new LabError('usage', `${directory} cannot be made: ${reasonOf(error)}`, { cause: error })
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
