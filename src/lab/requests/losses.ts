import { counted } from '../../base/counted.js'
import type { JsonObject } from '../../base/json.js'
import type { ApiClient } from '../../client/api-client.js'

/** Log entries of one epoch that a cluster discarded after a failover. */
export interface ClusterLoss {
  readonly epoch: string
  readonly firstIndex: number
  readonly lastIndex: number
  readonly reason: string
  /** `path` is empty unless the server shows storage paths to this client. */
  readonly entries: readonly { readonly index: number; readonly path: string; readonly operation: 'put' | 'delete' }[]
  /** Number of further operations that the server does not list. */
  readonly entriesBeyond: number
  /** Number of log frames that the server did not keep. */
  readonly framesBeyond: number
}

/** Returns the losses that a cluster lists, oldest first. Sealed servers list them as well. */
export const readLosses = async (client: ApiClient): Promise<readonly ClusterLoss[]> => {
  const { losses } = await client.call('GET', '/_understudy/v1/losses')
  return ((losses as JsonObject[] | undefined) ?? []).map((loss) => ({
    epoch: String(loss.epoch),
    firstIndex: Number(loss.first_index),
    lastIndex: Number(loss.last_index),
    reason: String(loss.reason),
    entries: loss.entries as unknown as ClusterLoss['entries'],
    entriesBeyond: Number(loss.entries_beyond),
    framesBeyond: Number(loss.frames_beyond),
  }))
}

/** Returns the number of log entries of these losses. */
export const countLost = (losses: readonly ClusterLoss[]): number =>
  losses.reduce((sum, { firstIndex, lastIndex }) => sum + lastIndex - firstIndex + 1, 0)

export const describeEntries = (count: number): string => counted(count, 'log entry', 'log entries')

/** Returns the storage paths of losses. Empty if the server shows no paths to this client. */
export const pathsOf = (losses: readonly ClusterLoss[]): readonly string[] =>
  [...new Set(losses.flatMap(({ entries }) => entries.map(({ path }) => path)))].filter(Boolean)

const PATHS_SHOWN = 3

/** Returns for example `kv/a, kv/b, kv/c and 9 more`. */
export const shortList = (paths: readonly string[]): string => {
  const more = paths.length > PATHS_SHOWN ? ` and ${paths.length - PATHS_SHOWN} more` : ''
  return paths.slice(0, PATHS_SHOWN).join(', ') + more
}

/** Returns for example ` (kv/a, kv/b, kv/c and 9 more)`. Empty without paths. */
export const describePaths = (losses: readonly ClusterLoss[]): string => {
  const paths = pathsOf(losses)
  return paths.length === 0 ? '' : ` (${shortList(paths)})`
}

/** Returns the losses that are not among the earlier ones. */
export const newLosses = (before: readonly ClusterLoss[], now: readonly ClusterLoss[]): readonly ClusterLoss[] => {
  const keyOf = ({ epoch, firstIndex }: ClusterLoss) => `${epoch} ${firstIndex}`
  const known = new Set(before.map(keyOf))
  return now.filter((loss) => !known.has(keyOf(loss)))
}
