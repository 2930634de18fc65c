import { readdirSync } from 'node:fs'
import path from 'node:path'
import { stateDirectory } from '../model/state-directory.js'

export const SNAPSHOT_SUFFIX = '.snapshot'

/** Where those are that have a name alone. */
export const snapshotsDirectory = (): string => path.join(stateDirectory(), 'snapshots')

/** Names of those that are kept. */
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
