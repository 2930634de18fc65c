import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { makeDirectory } from '../../base/make-directory.js'
import { LabError } from '../model/lab-error.js'
import type { ExportedFile } from './plan.js'

/** Writes an export and returns the paths. If one of its files exists, writes nothing, unless forced. */
export const writeExport = (directory: string, files: readonly ExportedFile[], isForced: boolean): string[] => {
  const targets = files.map((file) => ({ ...file, target: path.join(directory, file.path) }))
  const there = targets.filter(({ target }) => existsSync(target)).map(({ target }) => target)
  if (there.length > 0 && !isForced)
    throw new LabError(
      'conflict',
      `${there.join(', ')} ${there.length > 1 ? 'are' : 'is'} there already; --force replaces it`,
    )
  try {
    for (const { target, text } of targets) {
      makeDirectory(path.dirname(target))
      writeFileSync(target, text)
    }
  } catch (error) {
    throw new LabError(
      'usage',
      `the export cannot be written: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
  return targets.map(({ target }) => target)
}
