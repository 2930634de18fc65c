import { counted } from '../../base/counted.js'
import type { JsonObject } from '../../base/json.js'
import type { ApiClient } from '../../client/api-client.js'
import { type AnyLab, withAnonymousClient } from '../model/cluster.js'

interface LostEntry {
  readonly index: number
  /** Empty unless the server shows storage paths to this client. */
  readonly path: string
  readonly operation: 'put' | 'delete'
  /** The type of a credential that the entry revoked, and that is valid again. Absent if the server is older. */
  readonly credential?: 'token' | 'secret_id' | null
}

/** Log entries of one epoch that a cluster discarded after a failover. */
export interface ClusterLoss {
  readonly epoch: string
  readonly firstIndex: number
  readonly lastIndex: number
  readonly reason: string
  readonly entries: readonly LostEntry[]
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

const ANSWER_MS = 1000

/**
 * Returns the losses of the clusters of a lab that have any. A cluster that does not respond in time has none.
 * `isOwner`: false to ask without the `lab_api_token`, which shows storage paths.
 */
export const askLosses = async (
  lab: AnyLab,
  isOwner = true,
): Promise<readonly { readonly cluster: string; readonly losses: readonly ClusterLoss[] }[]> => {
  const all = lab.clusters.map(async (cluster) => {
    const asked = isOwner ? cluster : { ...cluster, labApiToken: undefined }
    const losses = await withAnonymousClient(asked, readLosses, ANSWER_MS).catch(() => [])
    return { cluster: cluster.name, losses }
  })
  return (await Promise.all(all)).filter(({ losses }) => losses.length > 0)
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

/** Numbers of credentials that are valid again, because the entries that revoked them are lost. */
export interface RestoredCredentials {
  readonly tokens: number
  readonly secretIds: number
}

export const restoredBy = (losses: readonly ClusterLoss[]): RestoredCredentials => {
  const types = losses.flatMap(({ entries }) => entries.map(({ credential }) => credential))
  const count = (type: LostEntry['credential']) => types.filter((one) => one === type).length
  return { tokens: count('token'), secretIds: count('secret_id') }
}

/** Returns for example `2 tokens, 1 SecretID`. Empty if no credential came back. */
export const describeRestored = ({ tokens, secretIds }: RestoredCredentials): string =>
  [tokens > 0 && counted(tokens, 'token'), secretIds > 0 && counted(secretIds, 'SecretID')].filter(Boolean).join(', ')

/** Returns the losses that are not among the earlier ones. */
export const newLosses = (before: readonly ClusterLoss[], now: readonly ClusterLoss[]): readonly ClusterLoss[] => {
  const keyOf = ({ epoch, firstIndex }: ClusterLoss) => `${epoch} ${firstIndex}`
  const known = new Set(before.map(keyOf))
  return now.filter((loss) => !known.has(keyOf(loss)))
}
