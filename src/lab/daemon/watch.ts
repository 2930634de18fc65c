import http from 'node:http'
import { callHttp, type HttpCall, OBSERVER_HEADER } from '../../base/http-call.js'
import { parseJsonObject } from '../../base/json.js'
import { LIMITS } from '../../base/limits.js'
import type { Clock } from '../../base/clock.js'
import type { EventDraft, EventKind } from '../events/event.js'
import { isNode } from '../model/cluster.js'
import { KINDS, type Kind } from '../model/kinds.js'
import { parseStatuses, type ReplicationStatus, type Status } from '../requests/replication-status.js'

/** A cluster that the lab daemon monitors. */
export interface WatchedCluster {
  readonly name: string
  readonly apiAddress: string
  /** Token for its lab endpoints. */
  readonly labApiToken?: string | undefined
}

interface WatchOptions {
  readonly clusters: readonly WatchedCluster[]
  readonly clock: Clock
  readonly emit: (event: EventDraft) => void
  /** Whether the first check of a cluster reports its roles. Otherwise, only later changes are reported. */
  readonly reportsFirst?: boolean | undefined
  /** Called after each check to which a server responds. */
  readonly onSeen?: ((cluster: string) => Promise<void>) | undefined
  /** Whether a client follows the events now. Default: always. */
  readonly isFollowed?: (() => boolean) | undefined
}

/** Pause between two checks of a cluster, in milliseconds. */
const PAUSE_MS = 1000
/** The pause in a quiet lab. It is shorter than the time after which a server closes an idle connection. */
const QUIET_PAUSE_MS = 4000
/** Time without events and followers after which a lab is quiet, in milliseconds. */
const QUIET_AFTER_MS = 30_000
/** Time without a response after which the process counts as silent, in milliseconds. */
const SILENT_AFTER_MS = 1000
/** Timeout of a check, in milliseconds. A server that does not respond gets no second request before this timeout. */
const GIVEN_UP_AFTER_MS = 60_000

/**
 * Checks each cluster independently and reports changes: about once per second, and less often in a quiet lab while
 * the server responds. Sends one request at a time, so a server that resumes has only one request to respond to, and
 * the daemon notices the resumption at once.
 */
export class Watch {
  readonly #options: WatchOptions
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  readonly #known = new Map<string, Observation>()
  readonly #stop = new AbortController()
  /** Aborted to end the pauses of a quiet lab. */
  #rest = new AbortController()
  #lastEventMs: number

  constructor(options: WatchOptions) {
    this.#options = options
    this.#lastEventMs = options.clock.monotonic()
  }

  start(): void {
    for (const cluster of this.#options.clusters) void this.#follow(cluster)
  }

  /** Call this at each event of the lab: a change of one cluster often changes others. */
  wake(): void {
    const isResting = this.#isQuiet()
    this.#lastEventMs = this.#options.clock.monotonic()
    if (!isResting) return
    this.#rest.abort()
    this.#rest = new AbortController()
  }

  close(): void {
    this.#stop.abort()
    this.#rest.abort()
    this.#agent.destroy()
  }

  /** Whether the node was active at the last check. */
  isActive(name: string): boolean {
    const { process, seal, node } = this.#known.get(name) ?? {}
    return process === 'running' && seal === 'unsealed' && node === 'active'
  }

  async #follow(cluster: WatchedCluster): Promise<void> {
    const { clock } = this.#options
    const { signal } = this.#stop
    while (!signal.aborted) {
      const answer = this.#observe(cluster)
      const silence = clock.setTimer(SILENT_AFTER_MS, () => this.#note(cluster, { process: 'silent' }))
      const observation = await answer
      silence.cancel()
      this.#note(cluster, observation)
      if (observation.process === 'running') await this.#options.onSeen?.(cluster.name)
      const canRest = observation.process === 'running' && this.#isQuiet()
      await (canRest ? clock.sleep(QUIET_PAUSE_MS, this.#rest.signal) : clock.sleep(PAUSE_MS, signal)).catch(
        () => undefined,
      )
    }
  }

  #isQuiet(): boolean {
    const { clock, isFollowed } = this.#options
    return isFollowed?.() === false && clock.monotonic() - this.#lastEventMs >= QUIET_AFTER_MS
  }

  #note({ name }: WatchedCluster, now: Observation): void {
    if (this.#stop.signal.aborted) return
    const { reportsFirst = false } = this.#options
    const before = this.#known.get(name) ?? (reportsFirst ? { process: now.process } : undefined)
    const after = mergeObservation(before, now)
    this.#known.set(name, after)
    if (before) for (const event of changesBetween(name, before, after)) this.#options.emit(event)
  }

  async #observe(cluster: WatchedCluster, isAgain = false): Promise<Observation> {
    try {
      return await this.#ask(cluster)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      // The connection may belong to a server that was stopped and replaced since.
      if (code === 'ECONNRESET' && !isAgain && !this.#stop.signal.aborted) return this.#observe(cluster, true)
      return { process: code === 'ECONNREFUSED' || code === 'ECONNRESET' ? 'stopped' : 'silent' }
    }
  }

  async #ask({ apiAddress }: WatchedCluster): Promise<Observation> {
    const headers = { [OBSERVER_HEADER]: 'true' }
    const common = { method: 'GET', headers, timeoutMs: GIVEN_UP_AFTER_MS, agent: this.#agent } as const
    const health = await ask({ ...common, url: `${apiAddress}/v1/sys/health` })
    const { initialized, sealed, standby } = health.json
    if (typeof initialized !== 'boolean' || typeof sealed !== 'boolean') return { process: 'running' }
    if (!initialized || sealed) return { process: 'running', seal: initialized ? 'sealed' : 'uninitialized' }
    const status = await ask({ ...common, url: `${apiAddress}/v1/sys/replication/status` })
    const node = standby === true ? 'standby' : 'active'
    return { process: 'running', seal: 'unsealed', node, roles: rolesIn(status.json) }
  }
}

const rolesIn = ({ data }: Record<string, unknown>): Observation['roles'] => {
  const { dr, performance } = (data ?? {}) as Partial<Record<Kind, Status | null>>
  if (typeof dr !== 'object' || typeof performance !== 'object') return undefined
  const statuses = parseStatuses({ dr, performance })
  return { dr: toObserved(statuses.dr), performance: toObserved(statuses.performance) }
}

const toObserved = ({ mode, state, connectionState }: ReplicationStatus): ObservedRole => ({
  mode,
  state: mode === 'secondary' ? `${state}, ${connectionState}` : '',
})

/** The response of a cluster. `json` is empty if the body is not a JSON object. */
export interface Answer {
  readonly status: number
  readonly json: Record<string, unknown>
}

interface ClusterRequest extends Pick<HttpCall, 'url' | 'headers' | 'timeoutMs' | 'agent'> {
  readonly method: 'GET' | 'POST'
  readonly body?: unknown
}

/**
 * Sends one request to a cluster without a Vault token. Does not use the API client, because the lab daemon runs as
 * long as its lab and should use little memory. Does not verify certificates: the port alone identifies a cluster.
 */
export const ask = async ({ method, url, body, headers, timeoutMs, agent }: ClusterRequest): Promise<Answer> => {
  const isTls = url.startsWith('https:')
  const { status, bytes } = await callHttp({
    method,
    url,
    timeoutMs,
    bytesMax: LIMITS.smallAnswerBytesMax,
    headers: {
      'X-Vault-Request': 'true',
      ...headers,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(isTls ? { tls: { rejectUnauthorized: false } } : { agent }),
  })
  return { status, json: parseJsonObject(bytes) ?? {} }
}

/** `silent`: the process accepts connections but does not respond, for example because it is suspended. */
type ProcessState = 'running' | 'silent' | 'stopped'
type NodeState = 'active' | 'standby'
type SealState = 'uninitialized' | 'sealed' | 'unsealed'

export interface ObservedRole {
  readonly mode: string
  /** Stream and connection of a secondary, such as `stream-wals, ready`. Empty for other roles. */
  readonly state: string
}

/** The last known state of a cluster. Absent properties were never reported. */
export interface Observation {
  readonly process: ProcessState
  readonly seal?: SealState | undefined
  /** Role of an unsealed node. */
  readonly node?: NodeState | undefined
  readonly roles?: Readonly<Record<Kind, ObservedRole>> | undefined
}

/** Returns the new state of a cluster. Properties that the cluster does not report now keep their previous value. */
export const mergeObservation = (before: Observation | undefined, now: Observation): Observation => ({
  process: now.process,
  seal: now.seal ?? before?.seal,
  node: now.node ?? before?.node,
  roles: now.roles ?? before?.roles,
})

/** The role of a cluster that has not reported its roles yet. */
const UNKNOWN: ObservedRole = { mode: 'unknown', state: '' }

/** Returns the events of changes between two observations. A first value is no change, except for a role. */
export const changesBetween = (cluster: string, before: Observation, after: Observation): EventDraft[] => {
  const changed = (
    kind: EventKind,
    from: string | undefined,
    to: string | undefined,
    more: object = {},
  ): EventDraft[] =>
    from === undefined || to === undefined || from === to ? [] : [{ cluster, kind, details: { ...more, from, to } }]
  return [
    ...changed('process', before.process, after.process),
    ...changed('seal', before.seal, after.seal),
    // A single server has no standby role.
    ...(isNode(cluster) ? changed('node', before.node, after.node) : []),
    ...KINDS.flatMap((replication) => {
      const [was = UNKNOWN, is] = [before.roles?.[replication], after.roles?.[replication]]
      if (!is || (was === UNKNOWN && is.mode === 'disabled')) return []
      if (was.mode === is.mode) return changed('replication', was.state, is.state, { replication })
      return changed('role', was.mode, is.mode, { replication, ...(is.state === '' ? {} : { state: is.state }) })
    }),
  ]
}
