import { readdirSync } from 'node:fs'
import path from 'node:path'
import { attempt } from '../../base/attempt.js'
import { LabError } from '../model/lab-error.js'
import { LAB_NAME, stateDirectory } from '../model/state-directory.js'

export const SNAPSHOT_SUFFIX = '.snapshot'

export const snapshotsDirectory = (): string => path.join(stateDirectory(), 'snapshots')

export const listSnapshots = (): string[] =>
  attempt(() =>
    readdirSync(snapshotsDirectory())
      .filter((file) => file.endsWith(SNAPSHOT_SUFFIX))
      .map((file) => file.slice(0, -SNAPSHOT_SUFFIX.length))
      .sort(),
  ) ?? []

/**
 * Returns the path of a snapshot: the text itself with a slash or the suffix `.snapshot`, else a stored name. Throws
 * LabError `usage` for an invalid name.
 */
export const snapshotPath = (nameOrFile: string): string => {
  if (/[/\\]/.test(nameOrFile) || nameOrFile.endsWith(SNAPSHOT_SUFFIX)) return path.resolve(nameOrFile)
  if (LAB_NAME.test(nameOrFile)) return path.join(snapshotsDirectory(), `${nameOrFile}${SNAPSHOT_SUFFIX}`)
  throw new LabError('usage', `"${nameOrFile}" is not a valid snapshot name: use letters, digits, "_", "." and "-"`)
}

/** Returns the path of the key that decrypts a snapshot. */
export const keyPath = (file: string): string => `${file}.key`
