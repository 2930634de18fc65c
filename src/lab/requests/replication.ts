import { textOfJson, textsOfJson } from '../../base/json-print.js'
import { decodeWithOtp } from '../../base/one-time-pad.js'
import type { Clock } from '../../base/clock.js'
import { type ApiClient, ApiError } from '../../client/api-client.js'
import { type ClusterAccess, type ClusterKeys, withAnonymousClient } from '../model/cluster.js'
import { KINDS, type Kind } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import {
  hasAll,
  NO_STATUS,
  parseStatus,
  type ReplicationStatus,
  type ReplicationStatuses,
} from './replication-status.js'
import { waitFor, type WaitOptions } from './wait.js'

/** The steps that set up replication, as an operator would run them: one or a few requests each. */

/** Minimum timeout of a wait for the first response of a server, in milliseconds. */
const ANSWER_WAIT_MS_MIN = 1000

export const REPLICATION = 'sys/replication'

/** Returns the ID under which a lab registers a secondary at its primary, such as `perf-c`. */
export const idOf = (kind: Kind, secondary: string): string =>
  `${kind === 'dr' ? 'dr' : 'perf'}-${secondary.toLowerCase()}`

/**
 * Initializes and unseals a new server. Calls `onSeal` with the keys before the unseal, whose failure would lose the
 * keys.
 */
export const initialize = async (
  client: ApiClient,
  shares: number,
  threshold: number,
  onSeal: (seal: ClusterKeys) => void = () => undefined,
): Promise<ClusterKeys> => {
  const made = await client.write('sys/init', { secret_shares: shares, secret_threshold: threshold })
  const seal = { rootToken: textOfJson(made.root_token), unsealKeys: textsOfJson(made.keys), threshold }
  onSeal(seal)
  await unseal(client, seal.unsealKeys.slice(0, threshold))
  return seal
}

/** Initializes a new server with auto-unseal, whose key shares are recovery keys. Calls `onSeal` with these keys. */
export const initializeAuto: typeof initialize = async (client, shares, threshold, onSeal = () => undefined) => {
  const made = await client.write('sys/init', { recovery_shares: shares, recovery_threshold: threshold })
  const seal = { rootToken: textOfJson(made.root_token), unsealKeys: textsOfJson(made.recovery_keys), threshold }
  onSeal(seal)
  return seal
}

export const unseal = async (client: ApiClient, keys: readonly string[]): Promise<void> => {
  for (const key of keys) await client.write('sys/unseal', { key })
}

export const enablePrimary = async (client: ApiClient, kind: Kind): Promise<void> => {
  await client.write(`${REPLICATION}/${kind}/primary/enable`)
}

/** Returns an activation token for a secondary with this ID. */
export const secondaryToken = async (client: ApiClient, kind: Kind, id: string): Promise<string> =>
  wrappedTokenIn(await client.write(`${REPLICATION}/${kind}/primary/secondary-token`, { id }))

/** Returns the wrapping token of a response to `secondary-token`. Throws LabError `remote` if it has none. */
export const wrappedTokenIn = (answer: Readonly<Record<string, unknown>>): string => {
  const wrapped = answer.wrap_info as { token?: unknown } | null
  if (typeof wrapped?.token === 'string') return wrapped.token
  throw new LabError('remote', 'the response of the primary to secondary-token has no wrapping token')
}

/** Returns an activation token that only the secondary can decrypt, without a request to the API of the primary. */
export const encryptedToken = async (primary: ApiClient, secondary: ApiClient, kind: Kind, id: string) => {
  const made = await secondary.write(`${REPLICATION}/${kind}/secondary/generate-public-key`)
  const { secondary_public_key } = (made.data ?? {}) as { secondary_public_key?: string }
  const path = `${REPLICATION}/${kind}/primary/secondary-token`
  const answer = await primary.write(path, { id, secondary_public_key })
  return textOfJson((answer.data as { token?: unknown } | null)?.token)
}

/** Makes a cluster a secondary, which erases its data. `caPem`: the CA certificate of the API of the primary. */
export const enableSecondary = async (client: ApiClient, kind: Kind, token: string, caPem?: string): Promise<void> => {
  await client.write(`${REPLICATION}/${kind}/secondary/enable`, { token, ...(caPem ? { ca_cert: caPem } : {}) })
}

/** Reads `sys/replication/<kind>/status`, and returns the unparsed data of the response. */
export const statusOf = async (client: ApiClient, kind: Kind): Promise<Record<string, unknown>> => {
  const answer = await client.read(`${REPLICATION}/${kind}/status`)
  return (answer.data ?? {}) as Record<string, unknown>
}

/** Reads the status of a cluster in one kind of replication. Rejects if the cluster does not respond. */
export const askStatus = async (client: ApiClient, kind: Kind): Promise<ReplicationStatus> =>
  parseStatus(kind, await statusOf(client, kind))

/** Reads the status of a cluster in both kinds of replication. Rejects if the cluster does not respond. */
export const askStatuses = async (client: ApiClient): Promise<ReplicationStatuses> => {
  const [dr, performance] = await Promise.all([askStatus(client, 'dr'), askStatus(client, 'performance')])
  return { dr, performance }
}

/**
 * Like `askStatuses`, with the address of a primary. Never rejects: if the cluster does not respond, the mode is `-`.
 */
export const askRoles = (client: ApiClient): Promise<ReplicationStatuses> =>
  askStatuses(client).then(
    (statuses) => withOwnAddress(client, statuses),
    () => ({ dr: NO_STATUS, performance: NO_STATUS }),
  )

/** Adds the cluster address of a primary, whose status contains an address only if `primary/enable` has set one. */
export const withOwnAddress = async (
  client: ApiClient,
  statuses: ReplicationStatuses,
): Promise<ReplicationStatuses> => {
  const lacksAddress = ({ mode, primaryAddress }: ReplicationStatus) => mode === 'primary' && primaryAddress === ''
  if (!KINDS.some((kind) => lacksAddress(statuses[kind]))) return statuses
  const leader = await client.send('GET', 'sys/leader').catch(() => undefined)
  const primaryAddress = textOfJson(leader?.json?.leader_cluster_address ?? '')
  const fill = (status: ReplicationStatus) => (lacksAddress(status) ? { ...status, primaryAddress } : status)
  return { dr: fill(statuses.dr), performance: fill(statuses.performance) }
}

/** Reads the current status of a cluster. */
type Ask = () => Promise<ReplicationStatus>

/**
 * Returns the reason why a secondary is behind. Undefined if it streams and has the Merkle root of its primary. During
 * writes to the primary, the roots rarely match. The secondary then needs only the entries that the primary had at the
 * first request.
 */
export const findLag = (primary: ApiClient, secondary: ApiClient, kind: Kind): Promise<string | undefined> =>
  findLagBetween(
    () => askStatus(primary, kind),
    () => askStatus(secondary, kind),
  )

/** Like `findLag`, for clusters whose status is not read through a client. */
export const findLagBetween = async (askPrimary: Ask, askSecondary: Ask): Promise<string | undefined> => {
  const before = await askPrimary()
  const theirs = await askSecondary()
  const problem = findStreamLag(theirs)
  if (problem !== undefined) return problem
  const { merkleRoot } = theirs
  if (merkleRoot === before.merkleRoot) return undefined
  const ours = await askPrimary()
  const isBusy = ours.merkleRoot !== before.merkleRoot
  if (merkleRoot === ours.merkleRoot || (isBusy && hasAll(theirs, before))) return undefined
  return `merkle roots differ: ${ours.merkleRoot} and ${merkleRoot}`
}

/** Returns why a cluster does not stream from its primary. Undefined if it does. */
export const findStreamLag = ({ mode, state, connectionState }: ReplicationStatus): string | undefined => {
  if (mode !== 'secondary') return `mode is ${mode}, not secondary`
  if (state !== 'stream-wals') return `state is ${state}, not stream-wals`
  return connectionState === 'ready' ? undefined : `connection_state is ${connectionState}, not ready`
}

type Call = (path: string, body?: Readonly<Record<string, string>>) => Promise<Record<string, unknown>>

/**
 * Generates a root token with key shares, for example on a performance secondary, whose join has invalidated its token.
 */
export const generateRoot = async (client: ApiClient, keys: readonly string[]): Promise<string> => {
  await client.delete('sys/generate-root/attempt')
  const token = await submitShares((path, body) => client.write(path, body), 'sys/generate-root', keys)
  if (token === undefined) throw new LabError('remote', 'generate-root did not complete with the key shares of the lab')
  return token
}

/** The path for generating an operation token with key shares. */
export const OPERATION_TOKEN = `${REPLICATION}/dr/secondary/generate-operation-token`
/** Text of the error while another generation is in progress. */
const IN_PROGRESS = 'already in progress'

/**
 * Generates a DR operation token. Undefined if the shares do not belong to this cluster. Rejects with LabError
 * `conflict` if another generation is in progress.
 */
export const generateOperationToken = async (call: Call, keys: readonly string[]): Promise<string | undefined> => {
  try {
    return await submitShares(call, OPERATION_TOKEN, keys)
  } catch (error) {
    // Only a generation that is in progress, for example an abandoned one, is a conflict. Wrong shares cause another
    // error.
    if (!(error instanceof ApiError && error.status === 400)) throw error
    if (!error.errors.some((text) => text.includes(IN_PROGRESS))) return undefined
    throw generationInProgress(error)
  }
}

export const generationInProgress = (cause?: unknown): LabError => {
  const text = `another generation of an operation token is in progress: DELETE ${OPERATION_TOKEN}/attempt cancels it`
  return new LabError('conflict', text, { cause })
}

/**
 * Starts a token generation, and submits key shares until it is complete. Undefined if the shares do not complete it.
 */
const submitShares = async (call: Call, path: string, keys: readonly string[]): Promise<string | undefined> => {
  const attempt = await call(`${path}/attempt`)
  for (const key of keys) {
    const update = await call(`${path}/update`, { key, nonce: textOfJson(attempt.nonce) })
    if (update.complete !== true) continue
    return decodeWithOtp(textOfJson(update.encoded_token), textOfJson(attempt.otp))
  }
  return undefined
}

/** Waits until the server responds with any status. */
export const waitForAnswer = (
  clock: Clock,
  client: ApiClient,
  name: string,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<void> =>
  waitFor(
    clock,
    `cluster ${name} to respond`,
    async () => {
      await client.call('GET', 'sys/init')
      return undefined
    },
    Math.max(timeoutMs, ANSWER_WAIT_MS_MIN),
    signal,
  )

/** Waits until all these servers respond. Sends no token. */
export const waitForAnswers = async (
  clusters: readonly ClusterAccess[],
  { clock, timeoutMs, signal }: WaitOptions,
): Promise<void> => {
  const wait = (cluster: ClusterAccess) =>
    withAnonymousClient(cluster, (client) => waitForAnswer(clock, client, cluster.name, timeoutMs, signal))
  await Promise.all(clusters.map(wait))
}
