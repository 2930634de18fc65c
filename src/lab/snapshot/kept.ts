import { readdirSync } from 'node:fs'
import path from 'node:path'
import { stateDirectory } from '../model/state-directory.js'

export const SNAPSHOT_SUFFIX = '.snapshot'

/** Returns the directory of named snapshots. */
export const snapshotsDirectory = (): string => path.join(stateDirectory(), 'snapshots')

/** Returns the names of stored snapshots. */
export const listSnapshots = (): string[] => {
  try {
    return readdirSync(snapshotsDirectory())
      .filter((file) => file.endsWith(SNAPSHOT_SUFFIX))
      .map((file) => file.slice(0, -SNAPSHOT_SUFFIX.length))
      .sort()
  } catch {
    return []
  }
}
