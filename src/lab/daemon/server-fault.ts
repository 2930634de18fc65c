import { messageOf } from '../../base/printable.js'
import { textsOfJson } from '../../base/json-print.js'
import { KeyedLock } from '../../base/keyed-lock.js'
import { isRefused } from '../../base/link-text.js'
import { describeServer } from '../model/cluster.js'
import { KINDS, type Kind } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import { type Answer, ask, type WatchedCluster } from './watch.js'

/**
 * A fault of one server. It is set through the lab endpoints of the server below `/_understudy/v1/`. Times are in
 * milliseconds.
 */
export type ServerFault =
  /** Replication stops in this state. Without `kind`, applies to both kinds of replication. */
  | { readonly name: 'hold-state'; readonly state: string; readonly kind?: Kind | undefined }
  /** The server's clock is shifted. */
  | { readonly name: 'skew'; readonly ms: number }
  /** Writes fail with a full disk or a device error, or are delayed. */
  | { readonly name: 'disk'; readonly state: 'full' | 'fail' | 'slow'; readonly delayMs?: number | undefined }
  /** Corrupts a page of a Merkle tree once. Replication or `reindex` repairs it. */
  | { readonly name: 'corrupt'; readonly tree: 'replicated' | 'local'; readonly page: number }
  /** Expires the activation token that was issued for this secondary. */
  | { readonly name: 'expire-token'; readonly id: string; readonly kind?: Kind | undefined }

const TIMEOUT_MS = 3000

/** A request to a lab endpoint of a server. */
interface FaultCall {
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
}

interface Actions<Fault> {
  /** The request that sets the fault, or one request for each kind of replication, of which the server accepts one. */
  readonly set: (fault: Fault) => readonly FaultCall[]
  /** The request that removes the fault. Absent if the fault acts once and cannot be undone. */
  readonly end?: (fault: Fault) => FaultCall
  /** Describes the fault: `clock +300 s`, `disk slow, 200 ms per write`. */
  readonly describe: (fault: Fault) => string
}

const ACTIONS: { readonly [Name in ServerFault['name']]: Actions<Extract<ServerFault, { name: Name }>> } = {
  'hold-state': {
    set: ({ state, kind }) => [{ path: 'states/hold', body: { state, kind } }],
    end: ({ state, kind }) => ({ path: 'states/release', body: { state, kind } }),
    describe: ({ state, kind }) => `held in ${state}${kind ? ` (${kind})` : ''}`,
  },
  skew: {
    set: ({ ms }) => [{ path: 'clock', body: { skew: `${ms}ms` } }],
    end: () => ({ path: 'clock', body: { skew: '0s' } }),
    describe: ({ ms }) => `clock ${ms < 0 ? '-' : '+'}${describeSpan(Math.abs(ms))}`,
  },
  disk: {
    set: ({ state, delayMs = 0 }) => [{ path: 'faults/disk', body: { state, delay: `${delayMs}ms` } }],
    end: () => ({ path: 'faults/disk', body: { state: 'ok' } }),
    describe: ({ state, delayMs }) => `disk ${state}${delayMs ? `, ${delayMs} ms per write` : ''}`,
  },
  corrupt: {
    set: ({ tree, page }) => [{ path: 'faults/corrupt', body: { tree, page } }],
    describe: ({ tree, page }) => `page ${page} of the ${tree} tree corrupted`,
  },
  'expire-token': {
    set: ({ id, kind }) =>
      (kind ? [kind] : KINDS).map((one) => ({ path: 'faults/expire-token', body: { kind: one, id } })),
    describe: ({ id }) => `activation token of ${id} expired`,
  },
}

const actionsOf = ({ name }: ServerFault): Actions<ServerFault> => ACTIONS[name] as Actions<ServerFault>

const describeSpan = (ms: number): string => (ms % 1000 === 0 ? `${ms / 1000} s` : `${ms} ms`)

/** Whether a fault acts once and cannot be undone. */
export const isOneShot = (fault: ServerFault): boolean => actionsOf(fault).end === undefined

export const describeServerFault = (fault: ServerFault): string => actionsOf(fault).describe(fault)

/**
 * Returns the setting of the server that a fault changes. Of two faults that change the same setting, the newer
 * applies.
 */
export const settingOf = (fault: ServerFault): string =>
  fault.name === 'hold-state' ? `${fault.name} ${fault.state} ${fault.kind ?? ''}` : fault.name

/** Whether the removal of one fault also removes the effect of the other fault. */
export const isSameSetting = (one: ServerFault, other: ServerFault): boolean => {
  if (one.name !== 'hold-state' || other.name !== 'hold-state') return one.name === other.name
  return one.state === other.state && (one.kind === other.kind || !one.kind || !other.kind)
}

interface ServerFaultsOptions {
  readonly clusters: () => readonly WatchedCluster[]
  /** Whether an earlier daemon may have set faults that this daemon does not know. */
  readonly isSuccessor: boolean
}

/**
 * Sets and removes faults of servers, with one request at a time per server. A request without a response may still
 * take effect, for example after a suspended process resumes. Such a server is in doubt until all its faults are
 * cleared.
 */
export class ServerFaults {
  readonly #clusters: () => readonly WatchedCluster[]
  readonly #locks = new KeyedLock()
  readonly #inDoubt: Set<string>

  constructor({ clusters, isSuccessor }: ServerFaultsOptions) {
    this.#clusters = clusters
    this.#inDoubt = new Set(isSuccessor ? clusters().map(({ name }) => name) : [])
  }

  /** Returns a cluster or node. Throws LabError `usage` with the existing names if there is none. */
  require(cluster: string): WatchedCluster {
    const clusters = this.#clusters()
    const found = clusters.find(({ name }) => name === cluster)
    if (found) return found
    throw new LabError(
      'usage',
      `there is no cluster "${cluster}"; the lab has ${clusters.map(({ name }) => name).join(', ')}`,
    )
  }

  /**
   * Runs work under the lock of a server, so that its faults and their record change together. Without the lock, a
   * waiting request could set a healed fault again.
   */
  async withLock<T>(cluster: string, work: (server: WatchedCluster) => Promise<T>): Promise<T> {
    const server = this.require(cluster)
    return this.#locks.run(cluster, () => work(server))
  }

  /** Resolves when no request to any server is in progress. */
  async settled(): Promise<void> {
    await Promise.all(this.#clusters().map(({ name }) => this.#locks.run(name, () => undefined)))
  }

  /**
   * Sets a fault, under the lock. Rejects with the error of the server, or with LabError `remote` if it does not
   * respond.
   */
  async set(server: WatchedCluster, fault: ServerFault): Promise<void> {
    try {
      await send(server, actionsOf(fault).set(fault))
    } catch (error) {
      const isAnswered = !(error instanceof LabError) || error.cause === undefined
      if (!isAnswered && !isRefused(error)) this.#inDoubt.add(server.name)
      throw error
    }
  }

  get inDoubt(): ReadonlySet<string> {
    return this.#inDoubt
  }

  /** Removes a fault, under the lock. Succeeds if the server is not running, since a stopped server has no faults. */
  async end(server: WatchedCluster, fault: ServerFault): Promise<void> {
    try {
      await sendEnd(server, fault)
    } catch (error) {
      if (!(error instanceof LabError && isRefused(error))) throw error
    }
  }

  /**
   * Removes all faults of the server, including unknown ones, under the lock. Resolves to their descriptions. Rejects
   * if the server does not respond.
   */
  async clear(server: WatchedCluster): Promise<readonly string[]> {
    const { json: faults } = await call(server, 'faults')
    const { json: held } = await call(server, 'states')
    const found = [...faultsIn(faults), ...statesIn(held)]
    for (const fault of found) await sendEnd(server, fault)
    this.#inDoubt.delete(server.name)
    return found.map(describeServerFault)
  }
}

const sendEnd = async (server: WatchedCluster, fault: ServerFault): Promise<void> => {
  const ended = actionsOf(fault).end?.(fault)
  if (ended) await send(server, [ended])
}

const faultsIn = ({ skew_ms: ms, disk }: Answer['json']): ServerFault[] => {
  const { state, delay_ms: delayMs } = (disk ?? {}) as Record<string, unknown>
  const isOfDisk = state === 'full' || state === 'fail' || state === 'slow'
  return [
    ...(typeof ms === 'number' && ms !== 0 ? [{ name: 'skew', ms } as const] : []),
    ...(isOfDisk ? [{ name: 'disk', state, delayMs: typeof delayMs === 'number' ? delayMs : 0 } as const] : []),
  ]
}

const statesIn = ({ states }: Answer['json']): ServerFault[] =>
  (Array.isArray(states) ? (states as { state: string; kind: Kind }[]) : []).map(({ state, kind }) => ({
    name: 'hold-state',
    state,
    kind,
  }))

/** Sends alternative requests until the server accepts one. Rejects with the error of the first if it accepts none. */
const send = async (server: WatchedCluster, alternatives: readonly FaultCall[]): Promise<void> => {
  let refusal: LabError | undefined
  for (const { path, body } of alternatives) {
    const answer = await call(server, path, body)
    if (answer.status < 300) return
    const reason = textsOfJson(answer.json.errors).join('; ') || `status ${answer.status}`
    const text = `${server.apiAddress} has no lab endpoints: set lab_api = true in the stanza "understudy" of its configuration`
    refusal ??= new LabError(answer.status === 400 ? 'usage' : 'remote', answer.status === 404 ? text : reason)
  }
  if (refusal) throw refusal
}

/**
 * Sends a POST request if there is a body, otherwise a GET request. Rejects with LabError `remote` without a response.
 */
const call = async (
  { name, apiAddress, labApiToken }: WatchedCluster,
  path: string,
  body?: FaultCall['body'],
): Promise<Answer> => {
  const method = body ? 'POST' : 'GET'
  const url = `${apiAddress}/_understudy/v1/${path}`
  const headers: Record<string, string> = labApiToken === undefined ? {} : { 'X-Understudy-Token': labApiToken }
  try {
    return await ask({ method, url, body, headers, timeoutMs: TIMEOUT_MS })
  } catch (error) {
    const reason = messageOf(error)
    const text = `${describeServer(name)} does not respond at ${apiAddress}, but this operation requires a response: ${reason}`
    throw new LabError('remote', text, { cause: error })
  }
}
