import { counted } from '../../base/counted.js'
import { isJsonObject } from '../../base/json.js'
import { messageOf } from '../../base/printable.js'
import { type ApiClient, ApiError, ApiUnreachable } from '../../client/api-client.js'
import { type AnyLab, withAnonymousClient } from '../model/cluster.js'
import { LabError } from '../model/lab-error.js'
import { commandIn } from '../model/lab-directory.js'

interface LostEntry {
  readonly index: number
  /** Empty unless the server shows storage paths to this client. */
  readonly path: string
  readonly operation: 'put' | 'delete'
  /**
   * The type of a credential that the lost entry revoked, so that it is valid again. Older servers do not report the
   * type.
   */
  readonly credential?: 'token' | 'secret_id' | null
}

/**
 * A list of log entries of one epoch that a cluster discarded, or that it still has although its primary has lost them.
 */
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

/**
 * The loss lists of a cluster, oldest first:
 * - `losses`: log entries that the cluster discarded
 * - `held`: log entries that the cluster still has, although its primary has lost them
 */
export type LossLists = Readonly<Record<'losses' | 'held', readonly ClusterLoss[]>>

/**
 * Returns the lists of a cluster. Throws if the server is sealed or restarting, or if the response has another form.
 */
export const readLossLists = async (client: ApiClient): Promise<LossLists> => {
  const { losses, held = [] } = await client.call('GET', '/_understudy/v1/losses')
  return { losses: parseLosses(losses), held: parseLosses(held) }
}

export const readLosses = async (client: ApiClient): Promise<readonly ClusterLoss[]> =>
  (await readLossLists(client)).losses

/** Default timeout of a request for losses, in milliseconds. */
const TIMEOUT_MS = 1000

/** The lists of a cluster. `error`: why a cluster that responds has unknown lists, which are empty then. */
export type FoundLosses = LossLists & { readonly cluster: string; readonly error?: string }

/**
 * Reads the loss lists of all clusters of a lab. Omits clusters without losses, and clusters that do not respond in
 * time.
 * `isOwner`: whether to send the `lab_api_token`, with which servers show storage paths.
 */
export const askLosses = async (
  lab: AnyLab,
  isOwner = true,
  timeoutMs = TIMEOUT_MS,
): Promise<readonly FoundLosses[]> => {
  const all = lab.clusters.map(async (cluster): Promise<FoundLosses> => {
    const asked = isOwner ? cluster : { ...cluster, labApiToken: undefined }
    const none = { cluster: cluster.name, losses: [], held: [] }
    try {
      return { ...none, ...(await withAnonymousClient(asked, readLossLists, timeoutMs)) }
    } catch (error) {
      const isSilent = error instanceof ApiUnreachable || lacksLosses(error)
      return isSilent ? none : { ...none, error: explainUnknown(error, lab.name, cluster.name) }
    }
  })
  return (await Promise.all(all)).filter(
    ({ losses, held, error }) => losses.length + held.length > 0 || error !== undefined,
  )
}

/**
 * Returns why the lists of a cluster are unknown. For a sealed cluster, which cannot decrypt them, also returns the
 * command that unseals it.
 */
export const explainUnknown = (error: unknown, lab: string, cluster: string): string =>
  error instanceof ApiError && error.errors.includes('Vault is sealed')
    ? `it is sealed; to unseal it: ${commandIn(lab, `unseal ${cluster}`)}`
    : messageOf(error)

/** Whether a server responded that it does not support this request. */
export const lacksLosses = (error: unknown): boolean => error instanceof ApiError && error.status === 404

const parseLosses = (losses: unknown): readonly ClusterLoss[] => {
  if (!Array.isArray(losses)) throw unexpectedForm()
  return losses.map((loss: unknown) => {
    if (!isJsonObject(loss)) throw unexpectedForm()
    const fields: Readonly<Record<string, unknown>> = loss
    const { epoch, first_index, last_index, reason, entries, entries_beyond = 0, frames_beyond = 0 } = fields
    if (typeof epoch !== 'string' || typeof reason !== 'string') throw unexpectedForm()
    if (!Array.isArray(entries) || !entries.every(isLostEntry)) throw unexpectedForm()
    const [firstIndex, lastIndex] = [requireIndex(first_index), requireIndex(last_index)]
    const [entriesBeyond, framesBeyond] = [requireIndex(entries_beyond), requireIndex(frames_beyond)]
    return { epoch, firstIndex, lastIndex, reason, entries, entriesBeyond, framesBeyond }
  })
}

const requireIndex = (value: unknown): number => {
  if (isIndex(value)) return value
  throw unexpectedForm()
}

const isIndex = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

const isLostEntry = (entry: unknown): entry is LostEntry => {
  if (!isJsonObject(entry)) return false
  const { index, path, operation, credential = null } = entry
  const hasCredential = credential === null || credential === 'token' || credential === 'secret_id'
  return isIndex(index) && typeof path === 'string' && (operation === 'put' || operation === 'delete') && hasCredential
}

const unexpectedForm = (): LabError => new LabError('remote', 'the list of lost log entries has an unexpected form')

/**
 * Returns the number of lost log entries. The index range is no measure: not all of its entries are lost, and a list
 * without entries only states that entries are missing. Counts each operation that is not listed as one log entry of
 * the range.
 */
export const countLost = (losses: readonly ClusterLoss[]): number =>
  losses.reduce((sum, { entries, entriesBeyond, firstIndex, lastIndex }) => {
    const listed = new Set(entries.map(({ index }) => index)).size
    const beyond = lastIndex - (entries.at(-1)?.index ?? firstIndex - 1)
    return sum + listed + Math.max(0, Math.min(entriesBeyond, beyond))
  }, 0)

/**
 * Returns the lists without entries, which only state that entries are missing. Other clusters may list these entries.
 */
export const unlistedLosses = (losses: readonly ClusterLoss[]): readonly ClusterLoss[] =>
  losses.filter((loss) => countLost([loss]) === 0)

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

/** Returns for example `12 log entries (kv/a, kv/b, kv/c and 9 more)`. Without paths if the server hides them. */
export const describeLost = (losses: readonly ClusterLoss[]): string => {
  const paths = pathsOf(losses)
  return describeEntries(countLost(losses)) + (paths.length === 0 ? '' : ` (${shortList(paths)})`)
}

/** Numbers of credentials that are valid again, because the log entries that revoked them are lost. */
export interface RestoredCredentials {
  readonly tokens: number
  readonly secretIds: number
}

export const restoredBy = (losses: readonly ClusterLoss[]): RestoredCredentials => {
  const types = losses.flatMap(({ entries }) => entries.map(({ credential }) => credential))
  const count = (type: LostEntry['credential']) => types.filter((one) => one === type).length
  return { tokens: count('token'), secretIds: count('secret_id') }
}

/** Returns for example `2 tokens, 1 SecretID`. Empty if no credential is valid again. */
export const describeRestored = ({ tokens, secretIds }: RestoredCredentials): string =>
  [tokens > 0 && counted(tokens, 'token'), secretIds > 0 && counted(secretIds, 'SecretID')].filter(Boolean).join(', ')

/** Returns the losses that an earlier request did not return. */
export const newLosses = (before: readonly ClusterLoss[], now: readonly ClusterLoss[]): readonly ClusterLoss[] => {
  const keyOf = ({ epoch, firstIndex, lastIndex }: ClusterLoss) => `${epoch} ${firstIndex} ${lastIndex}`
  const known = new Set(before.map(keyOf))
  return now.filter((loss) => !known.has(keyOf(loss)))
}
