import type { Clock } from '../../base/clock.js'
import type { ApiClient } from '../../client/api-client.js'
import { type ClusterAccess, type ClusterKeys, clientOf, type LabAccess } from '../model/cluster.js'
import { environmentOf } from '../keys/environment.js'
import type { EventDraft, LabEvent } from '../events/event.js'
import type { ActiveFault, FaultRequest } from '../keeper/active-fault.js'
import { LabError } from '../model/lab-error.js'
import { Runbook, type RunbookOptions } from '../operations/runbook.js'
import { sealCluster, unsealCluster } from '../keys/seals.js'
import type { Topology } from '../model/topology.js'
import type { LabKind, ProcessVerb, ServerVerb } from '../model/server-verbs.js'

/**
 * A lab that is up, whatever it is made of: what drills, snapshots and probes work on. A kind of lab is a `LabDriver`; what
 * can be done over the API of the clusters alone is the same for all and stands in `LiveLab`.
 */

/** Where events of a lab go, and come from. */
export interface LabEvents {
  /** Rejects never: an event that could not be kept is no reason to stop what it tells of. */
  append(draft: EventDraft): Promise<void>
  /** Calls back with every event from now on, until the returned function is called. */
  subscribe(listener: (event: LabEvent) => void): () => void
}

/**
 * The part of a live lab in which kinds of labs differ. An action that a kind does not have rejects with a LabError `usage`
 * that says so; `cannot` makes one.
 */
export interface LabDriver {
  readonly kind: LabKind
  readonly name: string
  readonly topology: Topology
  /** For waits and measurements: real time, also where the clusters live in a time of their own. */
  readonly clock: Clock
  readonly events: LabEvents
  /** The names of nodes, where a cluster has several. */
  nodes?(): readonly string[]
  /** As they are known now; keys change with joins and promotions. */
  clusters(): readonly ClusterAccess[]
  /** Looks which of several nodes are active, where that is not known at any moment: `clusters()` has their addresses then. */
  followActiveNodes?(): Promise<void>
  /** Remembers what opens a cluster from now on. */
  keepKeys(cluster: string, keys: Partial<ClusterKeys>): void
  /** Does one thing to the server of a cluster and says what was done. `start` unseals with the keys that the lab holds. */
  work(verb: ProcessVerb, cluster: string, timeoutMs: number): Promise<string>
  setFault(request: FaultRequest): Promise<ActiveFault>
  faults(): Promise<readonly ActiveFault[]>
  /** Heals these faults, or all; resolves with those that there were. */
  heal(ids?: readonly number[]): Promise<readonly ActiveFault[]>
  /** Lets go of what the driver itself holds. The lab stays up. */
  close(): Promise<void>
}

/** A handle of a lab that is up. Whoever opens it closes it; that leaves the lab as it is. */
export class LiveLab implements LabAccess {
  readonly #driver: LabDriver
  readonly #anonymous = new Map<string, ApiClient>()
  readonly #holders = new Map<string, { readonly token: string; readonly client: ApiClient }>()

  constructor(driver: LabDriver) {
    this.#driver = driver
  }

  get kind(): LabKind {
    return this.#driver.kind
  }

  get name(): string {
    return this.#driver.name
  }

  get topology(): Topology {
    return this.#driver.topology
  }

  get clock(): Clock {
    return this.#driver.clock
  }

  get events(): LabEvents {
    return this.#driver.events
  }

  get clusters(): readonly ClusterAccess[] {
    return this.#driver.clusters()
  }

  /** A cluster, or one of its nodes as if it were one by itself. Throws a usage error that names those there are. */
  cluster(name: string): ClusterAccess {
    const found = this.clusters.find((cluster) => cluster.name === name)
    if (found) return found
    const node = this.#findNode(name)
    if (node) return node
    const names = this.clusters.map((cluster) => cluster.name).join(', ')
    throw new LabError('usage', `the lab "${this.name}" has no cluster "${name}"; it has ${names}`)
  }

  #findNode(name: string): ClusterAccess | undefined {
    const [, letter, place = ''] = /^([A-Z])([1-9])$/.exec(name) ?? []
    const of = this.clusters.find((cluster) => cluster.name === letter)
    const apiAddress = of?.nodeAddresses?.[Number(place) - 1]
    return of && apiAddress !== undefined ? { ...of, name, apiAddress, nodeAddresses: undefined } : undefined
  }

  /** Of several nodes it asks the one that is active when it asks, as far as that is known. */
  #clientOf(name: string, rootToken: string): ApiClient {
    const cluster = this.cluster(name)
    const client = clientOf({ ...cluster, rootToken })
    return cluster.nodeAddresses ? client.with({ address: () => this.cluster(name).apiAddress }) : client
  }

  /** Looks which of several nodes are active, for whoever asks clusters from now on. */
  async followActiveNodes(): Promise<void> {
    await this.#driver.followActiveNodes?.()
  }

  /** A cluster, or a node of one, which drivers know by name. Throws a usage error for anything else. */
  requirePlace(name: string): void {
    if (!this.#driver.nodes?.().includes(name)) this.cluster(name)
  }

  /** Without a token. One client for each cluster, closed with the lab. */
  anonymous(name: string): ApiClient {
    const known = this.#anonymous.get(name)
    if (known) return known
    const client = this.#clientOf(name, '')
    this.#anonymous.set(name, client)
    return client
  }

  /**
   * With a root token that works there now, found among those of the lab or made from its keys. Rejects with `remote` where
   * there can be none, such as on a DR secondary.
   */
  async root(name: string): Promise<ApiClient> {
    const token = await this.rootToken(name)
    const known = this.#holders.get(name)
    if (known?.token === token) return known.client
    known?.client.close()
    const client = this.#clientOf(name, token)
    this.#holders.set(name, { token, client })
    return client
  }

  async rootToken(name: string): Promise<string> {
    const keep = (rootToken: string) => this.#driver.keepKeys(name, { rootToken })
    const { token, note } = await environmentOf(this, this.cluster(name), keep)
    if (token === undefined) throw new LabError('remote', note ?? `no token works on ${name}`)
    return token
  }

  /** With a token of one's own, over the connections of `anonymous`. */
  withToken(name: string, token: string): ApiClient {
    return this.#clientOf(name, token)
  }

  keepKeys(name: string, keys: Partial<ClusterKeys>): void {
    this.#driver.keepKeys(this.cluster(name).name, keys)
  }

  /** Operations of `operations/` on this lab. */
  runbook(options: Omit<RunbookOptions, 'clock' | 'rootTokenOf'>): Runbook {
    const tell = (event: EventDraft) => this.events.append(event)
    return new Runbook(this, { tell, ...options, clock: this.clock, rootTokenOf: (name) => this.rootToken(name) })
  }

  /** Does one thing to a cluster, and says what was done. */
  work(verb: ServerVerb, name: string, timeoutMs: number): Promise<string> {
    this.requirePlace(name)
    if (verb === 'seal') return sealCluster(this, this.cluster(name))
    return verb === 'unseal' ? unsealCluster(this, this.cluster(name)) : this.#driver.work(verb, name, timeoutMs)
  }

  async setFault(request: FaultRequest): Promise<ActiveFault> {
    for (const name of 'between' in request ? request.between : [request.cluster]) this.requirePlace(name)
    return this.#driver.setFault(request)
  }

  faults(): Promise<readonly ActiveFault[]> {
    return this.#driver.faults()
  }

  /** Heals these faults, or all. */
  heal(ids?: readonly number[]): Promise<readonly ActiveFault[]> {
    return this.#driver.heal(ids)
  }

  async close(): Promise<void> {
    for (const client of this.#anonymous.values()) client.close()
    for (const { client } of this.#holders.values()) client.close()
    this.#anonymous.clear()
    this.#holders.clear()
    await this.#driver.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
