import { textOfJson, textsOfJson } from '../../base/json-print.js'
import { decodeWithOtp } from '../../base/one-time-pad.js'
import type { Clock } from '../../base/clock.js'
import { type ApiClient, ApiError } from '../../client/api-client.js'
import { type ClusterAccess, withAnonymousClient } from '../model/cluster.js'
import type { Kind } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import { waitFor } from './wait.js'

/** The steps that set replication up, as an operator would call them. Each is one or a few requests. */

const LEAST_WAIT_MS = 1000

interface Seal {
  readonly rootToken: string
  readonly unsealKeys: readonly string[]
  readonly threshold: number
}

/** Initialises and unseals a new server. `onSeal` is told the keys as soon as they exist: nothing that fails later loses them. */
export const initialise = async (
  client: ApiClient,
  shares: number,
  threshold: number,
  onSeal: (seal: Seal) => void = () => undefined,
): Promise<Seal> => {
  const made = await client.write('sys/init', { secret_shares: shares, secret_threshold: threshold })
  const unsealKeys = textsOfJson(made.keys)
  const seal = { rootToken: textOfJson(made.root_token), unsealKeys, threshold }
  onSeal(seal)
  await unseal(client, unsealKeys.slice(0, threshold))
  return seal
}

/** Initialises a server that unseals by itself: its shares are recovery keys. */
export const initialiseAuto = async (client: ApiClient, shares: number, threshold: number): Promise<Seal> => {
  const made = await client.write('sys/init', { recovery_shares: shares, recovery_threshold: threshold })
  return { rootToken: textOfJson(made.root_token), unsealKeys: textsOfJson(made.recovery_keys), threshold }
}

export const unseal = async (client: ApiClient, keys: readonly string[]): Promise<void> => {
  for (const key of keys) await client.write('sys/unseal', { key })
}

export const enablePrimary = async (client: ApiClient, kind: Kind): Promise<void> => {
  await client.write(`sys/replication/${kind}/primary/enable`)
}

/** An activation token for a secondary called `id`. */
export const secondaryToken = async (client: ApiClient, kind: Kind, id: string): Promise<string> => {
  const answer = await client.write(`sys/replication/${kind}/primary/secondary-token`, { id })
  const wrapped = answer.wrap_info as { token?: unknown } | null
  if (typeof wrapped?.token !== 'string')
    throw new LabError('remote', 'the primary answered without an activation token')
  return wrapped.token
}

/** An activation token for `below` alone, which made its public key and need not reach the API of the primary. */
export const encryptedToken = async (above: ApiClient, below: ApiClient, kind: Kind, id: string): Promise<string> => {
  const made = await below.write(`sys/replication/${kind}/secondary/generate-public-key`)
  const { secondary_public_key } = (made.data ?? {}) as { secondary_public_key?: string }
  const path = `sys/replication/${kind}/primary/secondary-token`
  const answer = await above.write(path, { id, secondary_public_key })
  return textOfJson((answer.data as { token?: unknown } | null)?.token)
}

/** Everything on the secondary is wiped. `caPem`: what the API of the primary is verified with. */
export const enableSecondary = async (client: ApiClient, kind: Kind, token: string, caPem?: string): Promise<void> => {
  await client.write(`sys/replication/${kind}/secondary/enable`, { token, ...(caPem ? { ca_cert: caPem } : {}) })
}

export const statusOf = async (client: ApiClient, kind: Kind): Promise<Record<string, unknown>> => {
  const answer = await client.read(`sys/replication/${kind}/status`)
  return (answer.data ?? {}) as Record<string, unknown>
}

/**
 * The reason why a secondary is behind; undefined when it streams and has its primary's merkle root. While the primary is
 * being written to the two are hardly ever asked at a moment when they agree: then it is enough that the secondary has all
 * that the primary had when it was asked first.
 */
export const findLag = (primary: ApiClient, secondary: ApiClient, kind: Kind): Promise<string | undefined> =>
  findLagBetween(
    () => statusOf(primary, kind),
    () => statusOf(secondary, kind),
    kind,
  )

/** The reason why a secondary is behind, as `findLag`, for clusters whose status is asked for in another way. */
export const findLagBetween = async (
  askPrimary: () => Promise<Status>,
  askSecondary: () => Promise<Status>,
  kind: Kind,
): Promise<string | undefined> => {
  const before = await askPrimary()
  const theirs = await askSecondary()
  if (theirs.mode !== 'secondary') return `mode is ${textOfJson(theirs.mode)}, not secondary`
  if (theirs.state !== 'stream-wals') return `state is ${textOfJson(theirs.state)}, not stream-wals`
  if (theirs.connection_state !== 'ready')
    return `connection_state is ${textOfJson(theirs.connection_state)}, not ready`
  if (theirs.merkle_root === before.merkle_root) return undefined
  const ours = await askPrimary()
  const isBusy = ours.merkle_root !== before.merkle_root
  if (theirs.merkle_root === ours.merkle_root || (isBusy && hasAll(theirs, before, kind))) return undefined
  return `merkle roots differ: ${textOfJson(ours.merkle_root)} and ${textOfJson(theirs.merkle_root)}`
}

/** Whether a secondary has taken over what its primary had when that was asked. */
export const hasAll = (secondary: Status, primary: Status, kind: Kind): boolean =>
  Number(secondary.last_remote_wal) >= Number(primary[kind === 'dr' ? 'last_dr_wal' : 'last_performance_wal'])

/** A number of a status, such as the end of a log; 0 for anything else than a number from 0 on. */
export const countOf = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : 0

/** The mode of a status, or `unknown` if the status names none. */
export const modeOf = ({ mode }: Status): string => (typeof mode === 'string' && mode !== '' ? mode : 'unknown')

export type Status = Readonly<Record<string, unknown>>

type Call = (path: string, body?: Readonly<Record<string, string>>) => Promise<Record<string, unknown>>

/** A root token of a performance secondary, from the shares of its primary: its own died in the wipe. */
export const generateRoot = async (client: ApiClient, keys: readonly string[]): Promise<string> => {
  await client.delete('sys/generate-root/attempt')
  const token = await giveShares((path, body) => client.write(path, body), 'sys/generate-root', keys)
  if (token === undefined) throw new LabError('remote', 'generate-root did not complete with the shares at hand')
  return token
}

/** Where an operation token is made, share by share. */
export const OPERATION_TOKEN = 'sys/replication/dr/secondary/generate-operation-token'
/** In the refusal of an attempt while another one is open. */
const IN_PROGRESS = 'already in progress'

/**
 * An operation token of a DR secondary. Undefined when the shares are not those of this cluster. Throws LabError `conflict` when
 * somebody else is at it.
 */
export const generateOperationToken = async (call: Call, keys: readonly string[]): Promise<string | undefined> => {
  try {
    return await giveShares(call, OPERATION_TOKEN, keys)
  } catch (error) {
    // An attempt that somebody left open keeps the next one from beginning; wrong shares end it by themselves.
    if (!(error instanceof ApiError && error.status === 400)) throw error
    if (!error.errors.some((text) => text.includes(IN_PROGRESS))) return undefined
    const text = `an operation token is being made there already: DELETE ${OPERATION_TOKEN}/attempt cancels that`
    throw new LabError('conflict', text, { cause: error })
  }
}

/** The ceremony of sharing a secret out: an attempt, then one share after the other. */
const giveShares = async (call: Call, path: string, keys: readonly string[]): Promise<string | undefined> => {
  const attempt = await call(`${path}/attempt`)
  for (const key of keys) {
    const update = await call(`${path}/update`, { key, nonce: textOfJson(attempt.nonce) })
    if (update.complete !== true) continue
    return decodeWithOtp(textOfJson(update.encoded_token), textOfJson(attempt.otp))
  }
  return undefined
}

/** Waits until the server answers at all. */
export const waitForAnswer = (
  clock: Clock,
  client: ApiClient,
  name: string,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<void> =>
  waitFor(
    clock,
    `cluster ${name} to answer`,
    async () => {
      await client.call('GET', 'sys/init')
      return undefined
    },
    Math.max(timeoutMs, LEAST_WAIT_MS),
    signal,
  )

/** Waits until several servers answer, without a token. */
export const waitForAnswers = async (
  clusters: readonly ClusterAccess[],
  {
    clock,
    timeoutMs,
    signal,
  }: { readonly clock: Clock; readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
): Promise<void> => {
  const wait = (cluster: ClusterAccess) =>
    withAnonymousClient(cluster, (client) => waitForAnswer(clock, client, cluster.name, timeoutMs, signal))
  await Promise.all(clusters.map(wait))
}
