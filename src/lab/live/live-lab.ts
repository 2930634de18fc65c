import type { Clock } from '../../base/clock.js'
import type { ApiClient } from '../../client/api-client.js'
import { type ClusterAccess, type ClusterKeys, clientOf, type LabAccess } from '../model/cluster.js'
import { environmentOf } from '../keys/environment.js'
import type { EventDraft, LabEvent } from '../events/event.js'
import type { ActiveFault, FaultRequest } from '../daemon/active-fault.js'
import { LabError } from '../model/lab-error.js'
import { Runbook, type RunbookOptions } from '../operations/runbook.js'
import { sealCluster, unsealCluster } from '../keys/seals.js'
import type { Topology } from '../model/topology.js'
import type { LabKind, ProcessVerb, ServerVerb } from '../model/server-verbs.js'

/**
 * A running lab of any kind, as drills, snapshots and probes use it. Each kind of lab has a `LabDriver`. Actions that need only
 * the API of the clusters are the same for all, and are in `LiveLab`.
 */

/** The event log of a lab. */
export interface LabEvents {
  /** Records an event. Never rejects: a lost event must not stop the action. */
  append(draft: EventDraft): Promise<void>
  /** Calls the listener for each new event, until the returned function is called. */
  subscribe(listener: (event: LabEvent) => void): () => void
  close(): void
}

/** The faults of a lab. */
export interface LabFaults {
  set(request: FaultRequest): Promise<ActiveFault>
  list(): Promise<readonly ActiveFault[]>
  /** Removes these faults, or all, and resolves with the removed faults. */
  heal(ids?: readonly number[]): Promise<readonly ActiveFault[]>
}

/** The operations that differ between kinds of labs. An unsupported action rejects with LabError `usage`, created by `cannot`. */
export interface LabDriver {
  readonly kind: LabKind
  readonly name: string
  readonly topology: Topology
  /** The clock for waits and measurements: real time, even if the clusters run in virtual time. */
  readonly clock: Clock
  readonly events: LabEvents
  readonly faults: LabFaults
  /** The current knowledge about clusters. Joins and promotions change their keys. */
  clusters(): readonly ClusterAccess[]
  /** Finds the active nodes, if they are not tracked continuously. Afterwards, `clusters()` returns their addresses. */
  followActiveNodes?(): Promise<void>
  /** Stores new keys of a cluster. */
  keepKeys(cluster: string, keys: Partial<ClusterKeys>): void
  /** Runs an action on a server and returns a description. `start` unseals with the keys of the lab. */
  work(verb: ProcessVerb, cluster: string, timeoutMs: number): Promise<string>
  /** Releases the resources of the driver. The lab stays up. */
  close(): Promise<void>
}

/** A handle of a running lab. The caller must close it, which does not affect the lab. */
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

  /** Returns a cluster, or one of its nodes as a cluster. Throws a usage error with the existing names. */
  cluster(name: string): ClusterAccess {
    const found = this.clusters.find((cluster) => cluster.name === name)
    if (found) return found
    const node = this.#findNode(name)
    if (node) return node
    const names = this.clusters.map((cluster) => cluster.name).join(', ')
    throw new LabError('usage', `the lab "${this.name}" has no cluster "${name}"; it has ${names}`)
  }

  #findNode(name: string): ClusterAccess | undefined {
    const [, letter, place = ''] = /^(.+)([1-9])$/.exec(name) ?? []
    const of = this.clusters.find((cluster) => cluster.name === letter)
    const apiAddress = of?.nodeAddresses?.[Number(place) - 1]
    return of && apiAddress !== undefined ? { ...of, name, apiAddress, nodeAddresses: undefined } : undefined
  }

  /** Returns a client that sends each request to the last known active node. */
  #clientOf(name: string, rootToken: string): ApiClient {
    const cluster = this.cluster(name)
    const client = clientOf({ ...cluster, rootToken })
    return cluster.nodeAddresses ? client.with({ address: () => this.cluster(name).apiAddress }) : client
  }

  /** Finds the active nodes. Later requests to clusters go to them. */
  async followActiveNodes(): Promise<void> {
    await this.#driver.followActiveNodes?.()
  }

  /** Returns a client without a token: one per cluster, closed with the handle. */
  anonymous(name: string): ApiClient {
    const known = this.#anonymous.get(name)
    if (known) return known
    const client = this.#clientOf(name, '')
    this.#anonymous.set(name, client)
    return client
  }

  /**
   * Returns a client with a valid root token, found among those of the lab or generated from its keys. Rejects with `remote` if
   * there is none, as on a DR secondary.
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
    return this.#rootTokenAt(this.cluster(name))
  }

  /** Returns a root token for a cluster at the address of one of its nodes. */
  async #rootTokenAt(cluster: ClusterAccess): Promise<string> {
    const keep = (rootToken: string) => this.#driver.keepKeys(cluster.name, { rootToken })
    const { token, note } = await environmentOf(this, cluster, keep)
    if (token === undefined) throw new LabError('remote', note ?? `no token works on ${cluster.name}`)
    return token
  }

  /** Returns a client with this token, over the connections of `anonymous`. */
  withToken(name: string, token: string): ApiClient {
    return this.#clientOf(name, token)
  }

  keepKeys(name: string, keys: Partial<ClusterKeys>): void {
    this.#driver.keepKeys(this.cluster(name).name, keys)
  }

  /** Returns a runbook for operations on this lab. */
  runbook(options: Omit<RunbookOptions, 'clock' | 'rootTokenOf'>): Runbook {
    const tell = (event: EventDraft) => this.events.append(event)
    const rootTokenOf = (cluster: ClusterAccess) => this.#rootTokenAt(cluster)
    return new Runbook(this, { tell, ...options, clock: this.clock, rootTokenOf })
  }

  /** Runs an action on a cluster and returns a description. */
  work(verb: ServerVerb, name: string, timeoutMs: number): Promise<string> {
    const cluster = this.cluster(name)
    if (verb === 'seal') return sealCluster(this, cluster)
    return verb === 'unseal' ? unsealCluster(this, cluster) : this.#driver.work(verb, name, timeoutMs)
  }

  async setFault(request: FaultRequest): Promise<ActiveFault> {
    for (const name of 'between' in request ? request.between : [request.cluster]) this.cluster(name)
    return this.#driver.faults.set(request)
  }

  faults(): Promise<readonly ActiveFault[]> {
    return this.#driver.faults.list()
  }

  /** Removes these faults, or all. */
  heal(ids?: readonly number[]): Promise<readonly ActiveFault[]> {
    return this.#driver.faults.heal(ids)
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
