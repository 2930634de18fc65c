import {
  type ApiAnswer,
  type ApiClient,
  ApiUnreachable,
  type Kind,
  type LabCluster,
  listTopologies,
  startLabOf,
  type Topology,
} from '../../src/index.js'
import type { InProcessLab } from '../../src/lab/library/in-process-lab.js'
import { systemClock } from '../../src/base/clock.js'
import { waitFor } from '../../src/lab/requests/wait.js'
import { findLag, generateOperationToken, idOf, OPERATION_TOKEN } from '../../src/lab/requests/replication.js'
import type { EngineSource } from '../../src/storage/engine/engine-source.js'
import { createMemoryStorage, type ServerStorage, type StepListener } from '../../src/server/data/server-storage.js'
import { findText } from './stored-bytes.js'

/** Storage in memory whose live generation the test can search. */
export interface WatchedStorage extends ServerStorage {
  /**
   * Returns the keys of entries whose key or value contains the text. Finds nothing before a server has opened the
   * storage.
   */
  findText(text: string): Promise<string[]>
}

export const watchStorage = (onStep?: StepListener): WatchedStorage => {
  const inner = createMemoryStorage(onStep)
  let source: EngineSource | undefined
  return {
    path: inner.path,
    kill: () => inner.kill(),
    release: () => inner.release(),
    async open() {
      source = await inner.open()
      return source
    },
    findText: async (text) => (source ? findText(source.engine, text) : []),
  }
}

/** A broken promise of the product, with the last actions before it. */
export class Violation extends Error {
  override readonly name = 'Violation'
}

export type Status = Readonly<Record<string, unknown>>

export const isSuccess = (answer: ApiAnswer | undefined): boolean => answer !== undefined && answer.status < 300

/** A cluster, and the facts about it that the test knows. */
export interface Member {
  readonly name: string
  readonly cluster: LabCluster
  readonly storage: WatchedStorage
  /** Root tokens from before a wipe of this cluster, which must be invalid. */
  readonly deadTokens: Set<string>
  /** Acknowledged writes that must be readable, by path. */
  readonly writes: Map<string, string>
  /** Acknowledged tokens that must be valid. */
  readonly tokens: Set<string>
  /** The storage generation at the last check. */
  generation: number
  /** The request of its last join. */
  joined: { readonly kind: Kind; readonly primary: string; readonly id: string } | undefined
}

const UNCONNECTED: Topology = { name: 'none', about: 'unconnected clusters', clusters: ['A', 'B', 'C'], links: [] }

/** Short timeouts, so that a cut link costs a step at most one second. */
const SETTINGS = {
  bootstrap_timeout: '1s',
  forwarding_timeout: '500ms',
  ping_timeout: '500ms',
  heartbeat_interval: '100ms',
  reconnect_backoff_initial: '10ms',
  reconnect_backoff_max: '100ms',
  demote_drain_timeout: '500ms',
}

/** Long timeouts for runs without cut links, so that a slow machine breaks no step. */
export const UNCUT_SETTINGS = { ...SETTINGS, bootstrap_timeout: '60s', forwarding_timeout: '60s', ping_timeout: '60s' }

interface WorldOptions {
  readonly makeStorage?: (cluster: string) => WatchedStorage
  readonly settings?: typeof SETTINGS
}

const UNTIL_MS = 60_000

/** A lab, and the history of actions on it. */
export class World {
  readonly lab: InProcessLab
  readonly members: readonly Member[]
  readonly history: string[] = []
  /** Number of occurrences of each outcome of each action. */
  readonly seen = new Map<string, number>()
  /** True if a filter was ever set. */
  hasFiltered = false
  #serial = 0

  private constructor(lab: InProcessLab, members: readonly Member[]) {
    this.lab = lab
    this.members = members
  }

  /** Starts a lab with a built-in topology, or with three unconnected clusters for the name `none`. */
  static async create(
    topologyName: string,
    seed: number,
    { makeStorage = () => watchStorage(), settings = SETTINGS }: WorldOptions = {},
  ): Promise<World> {
    const topology = listTopologies().find(({ name }) => name === topologyName) ?? UNCONNECTED
    const storages = new Map(topology.clusters.map((name) => [name, makeStorage(name)]))
    const storageOf = (name: string): WatchedStorage => {
      const found = storages.get(name)
      if (!found) throw new Error(`no storage for ${name}`)
      return found
    }
    const lab = await startLabOf(topology, { seed, settings, storage: storageOf })
    return new World(
      lab,
      lab.clusters.map((cluster) => ({
        name: cluster.name,
        cluster,
        storage: storageOf(cluster.name),
        deadTokens: new Set(),
        writes: new Map(),
        tokens: new Set(),
        generation: topology.links.filter(({ secondary }) => secondary === cluster.name).length + 1,
        joined: undefined,
      })),
    )
  }

  member(index: number): Member {
    const found = this.members[index % this.members.length]
    if (!found) throw new Error('a world without members')
    return found
  }

  named(name: string): Member {
    const found = this.members.find((member) => member.name === name)
    if (!found) throw new Error(`no member ${name}`)
    return found
  }

  /** Returns a member other than the one at `index`. */
  other(index: number, offset: number): Member {
    return this.member(index + 1 + (offset % (this.members.length - 1)))
  }

  byAddress(clusterAddress: unknown): Member | undefined {
    return this.members.find(({ cluster }) => cluster.clusterAddress === clusterAddress)
  }

  /** Returns a number that is unique in this world. */
  next(): number {
    return this.#serial++
  }

  fail(text: string): never {
    throw new Violation(`${text}\n--- last steps\n${this.history.slice(-90).join('\n')}`)
  }

  /** Sends a request. Resolves to undefined without a response. Fails for status 500. */
  call(member: Member, method: string, path: string, body?: unknown, token = ''): Promise<ApiAnswer | undefined> {
    const withToken = token === '' ? {} : { token }
    return this.#send(member, () => member.cluster.anonymous, [method, path, { ...bodyOf(body), ...withToken }])
  }

  /** Sends a request with the root token, if the cluster has one. */
  asRoot(member: Member, method: string, path: string, body?: unknown): Promise<ApiAnswer | undefined> {
    return this.#send(member, () => member.cluster.client, [method, path, bodyOf(body)])
  }

  async #send(
    member: Member,
    clientOf: () => ApiClient,
    request: Parameters<ApiClient['send']>,
  ): Promise<ApiAnswer | undefined> {
    if (!member.cluster.isRunning) return undefined
    try {
      const answer = await clientOf().send(...request)
      const [method, path] = request
      if (answer.status === 500) this.fail(`${member.name} answered 500 to ${method} ${path}: ${answer.bytes}`)
      return answer
    } catch (error) {
      if (error instanceof ApiUnreachable) return undefined
      throw error
    }
  }

  /** Reads a replication status. Fails without a response, because a running unsealed server must respond. */
  async status(member: Member, kind: Kind): Promise<Status> {
    const answer = await this.call(member, 'GET', `sys/replication/${kind}/status`)
    if (answer?.status !== 200)
      this.fail(`${member.name} answered ${answer?.status} to a ${kind} status read: ${answer?.bytes}`)
    return (answer.json?.data ?? {}) as Status
  }

  async info(member: Member): Promise<Status> {
    const answer = await this.call(member, 'GET', '/_understudy/v1/info')
    if (answer?.status !== 200) this.fail(`${member.name} answered ${answer?.status} to info`)
    return answer.json ?? {}
  }

  /** Starts the cluster, and unseals it with the keys of this lab. */
  async start(member: Member): Promise<void> {
    await member.cluster.start().catch((error: unknown) => this.fail(`${member.name} cannot be opened: ${error}`))
  }

  /** Issues an activation token under a new ID. Resolves to undefined if the primary does not issue one. */
  async issue(primary: Member, kind: Kind): Promise<{ readonly id: string; readonly token: string } | undefined> {
    const id = `${idOf(kind, 's')}${this.next()}`
    const answer = await this.asRoot(primary, 'PUT', `sys/replication/${kind}/primary/secondary-token`, { id })
    const token = (answer?.json?.wrap_info as { token?: string } | undefined)?.token
    return token === undefined ? undefined : { id, token }
  }

  /** Returns why a secondary lags behind its primary, or undefined. */
  lag(primary: Member, secondary: Member, kind: Kind): Promise<string | undefined> {
    return findLag(primary.cluster.anonymous, secondary.cluster.anonymous, kind)
  }

  /** Generates a DR operation token. Resolves to an empty string if the cluster does not generate one. */
  async operationToken(member: Member): Promise<string> {
    await this.call(member, 'DELETE', `${OPERATION_TOKEN}/attempt`)
    const call = async (path: string, body = {}) => ({ ...(await this.call(member, 'PUT', path, body))?.json })
    return (await generateOperationToken(call, member.cluster.unsealKeys)) ?? ''
  }

  /** Waits until `fact` returns undefined. Fails with its last text. */
  until(fact: () => Promise<string | undefined>): Promise<void> {
    return waitFor(systemClock, 'a fact', fact, UNTIL_MS).catch((error: unknown) => this.fail(String(error)))
  }

  async findUnserved(member: Member): Promise<string | undefined> {
    const answer = await this.call(member, 'GET', 'sys/internal/ui/mounts')
    return answer?.status === 200 ? undefined : `it answers ${answer?.status}`
  }

  count(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1)
  }
}

const bodyOf = (body: unknown) => (body === undefined ? {} : { body })
