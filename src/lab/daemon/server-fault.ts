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

const ANSWER_MS = 3000

interface Order {
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
}

interface Actions<Fault> {
  /** Alternative requests: only the server knows which of them applies. */
  readonly set: (fault: Fault) => readonly Order[]
  /** Absent if the fault acts once and cannot be undone. */
  readonly end?: (fault: Fault) => Order
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

/** Returns the setting that a fault changes. Of two faults of the same setting, the newer applies. */
export const settingOf = (fault: ServerFault): string =>
  fault.name === 'hold-state' ? `${fault.name} ${fault.state} ${fault.kind ?? ''}` : fault.name

/** Whether removing one fault affects the other. */
export const isSameSetting = (one: ServerFault, other: ServerFault): boolean => {
  if (one.name !== 'hold-state' || other.name !== 'hold-state') return one.name === other.name
  return one.state === other.state && (one.kind === other.kind || !one.kind || !other.kind)
}

interface ServerOrdersOptions {
  readonly clusters: () => readonly WatchedCluster[]
  /** True if an earlier daemon may have set faults that this daemon does not know. */
  readonly isSuccessor: boolean
}

/**
 * Sends fault requests to servers, one at a time per server. A request without response may still take effect, for example
 * after a suspended process resumes. Such a server is in doubt until all its faults are cleared.
 */
export class ServerOrders {
  readonly #clusters: () => readonly WatchedCluster[]
  readonly #turns = new KeyedLock()
  readonly #inDoubt: Set<string>

  constructor({ clusters, isSuccessor }: ServerOrdersOptions) {
    this.#clusters = clusters
    this.#inDoubt = new Set(isSuccessor ? clusters().map(({ name }) => name) : [])
  }

  /** Returns a cluster. Throws a usage error if it does not exist. */
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
   * Runs work under the lock of a server, so that its faults and their record change together. Without the lock, a waiting
   * request could set a healed fault again.
   */
  async inTurn<T>(cluster: string, work: (server: WatchedCluster) => Promise<T>): Promise<T> {
    const server = this.require(cluster)
    return this.#turns.run(cluster, () => work(server))
  }

  /** Resolves when no request to any server is in progress. */
  async settled(): Promise<void> {
    await Promise.all(this.#clusters().map(({ name }) => this.#turns.run(name, () => undefined)))
  }

  /** Sets a fault, under the lock. Rejects with the error of the server, or with `remote` if it does not respond. */
  async set(server: WatchedCluster, fault: ServerFault): Promise<void> {
    try {
      await order(server, actionsOf(fault).set(fault))
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
      await orderEnd(server, fault)
    } catch (error) {
      if (!(error instanceof LabError && isRefused(error))) throw error
    }
  }

  /**
   * Removes all faults of the server, including unknown ones, under the lock. Resolves to their descriptions. Rejects if the
   * server does not respond.
   */
  async clear(server: WatchedCluster): Promise<readonly string[]> {
    const { json: faults } = await call(server, 'faults')
    const { json: held } = await call(server, 'states')
    const found = [...faultsIn(faults), ...statesIn(held)]
    for (const fault of found) await orderEnd(server, fault)
    this.#inDoubt.delete(server.name)
    return found.map(describeServerFault)
  }
}

const orderEnd = async (server: WatchedCluster, fault: ServerFault): Promise<void> => {
  const ended = actionsOf(fault).end?.(fault)
  if (ended) await order(server, [ended])
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

/** Sends alternative requests until the server accepts one. Only the server knows which kind of replication applies. */
const order = async (server: WatchedCluster, orders: readonly Order[]): Promise<void> => {
  let refusal: LabError | undefined
  for (const { path, body } of orders) {
    const answer = await call(server, path, body)
    if (answer.status < 300) return
    const reason = textsOfJson(answer.json.errors).join('; ') || `status ${answer.status}`
    const text = `${server.apiAddress} has no lab endpoints: its setting lab_api is off`
    refusal ??= new LabError(answer.status === 400 ? 'usage' : 'remote', answer.status === 404 ? text : reason)
  }
  if (refusal) throw refusal
}

/** Sends a POST request if there is a body, otherwise a GET request. */
const call = async (
  { name, apiAddress, labApiToken }: WatchedCluster,
  path: string,
  body?: Order['body'],
): Promise<Answer> => {
  const method = body ? 'POST' : 'GET'
  const url = `${apiAddress}/_understudy/v1/${path}`
  const headers: Record<string, string> = labApiToken === undefined ? {} : { 'X-Understudy-Token': labApiToken }
  try {
    return await ask({ method, url, body, headers, timeoutMs: ANSWER_MS })
  } catch (error) {
    const reason = messageOf(error)
    const text = `${describeServer(name)} does not respond at ${apiAddress}, which this operation requires: ${reason}`
    throw new LabError('remote', text, { cause: error })
  }
}
