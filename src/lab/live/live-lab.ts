import type { Clock } from '../../base/clock.js'
import type { ApiClient } from '../../client/api-client.js'
import { type ClusterAccess, type ClusterKeys, clientOf, type LabAccess, requireCluster } from '../model/cluster.js'
import { environmentOf } from '../keys/environment.js'
import type { EventDraft, LabEvent } from '../events/event.js'
import { type ActiveFault, type FaultRequest, findBetween, isShown, stopsTraffic } from '../daemon/active-fault.js'
import { LabError } from '../model/lab-error.js'
import { Runbook } from '../operations/runbook.js'
import type { RunbookOptions } from '../operations/runbook-options.js'
import type { LastPosition } from '../requests/expected-loss.js'
import { sealCluster, unsealCluster } from '../keys/seals.js'
import type { Topology } from '../model/topology.js'
import type { LabKind, ProcessVerb, ServerVerb } from '../model/server-verbs.js'

export interface LabEvents {
  /** Records an event. Never rejects, because a lost event must not stop an action. */
  append(draft: EventDraft): Promise<void>
  /** Calls the listener for each new event until the caller calls the returned function. */
  subscribe(listener: (event: LabEvent) => void): () => void
  close(): void
}

export interface LabFaults {
  set(request: FaultRequest): Promise<ActiveFault>
  list(): Promise<readonly ActiveFault[]>
  /** Removes these faults, or all, and resolves with the removed faults. */
  heal(ids?: readonly number[]): Promise<readonly ActiveFault[]>
}

/**
 * The parts that depend on the kind of lab. An unsupported operation rejects with LabError `usage`, created by
 * `cannot`.
 */
export interface LabDriver {
  readonly kind: LabKind
  readonly name: string
  readonly topology: Topology
  /** The clock for waits and measurements: real time, even if the clusters run in virtual time. */
  readonly clock: Clock
  readonly events: LabEvents
  readonly faults: LabFaults
  /**
   * Location of the proxies of the links: `daemon` outlives the handle, `here` is this process, `none` means no
   * proxies.
   */
  readonly links: 'daemon' | 'here' | 'none'
  /** Returns the clusters with their current addresses and keys. Joins and promotions change the keys. */
  clusters(): readonly ClusterAccess[]
  /** Stores new keys of a cluster. */
  saveKeys(cluster: string, keys: Partial<ClusterKeys>): void
  /**
   * Runs an action on a server, and resolves to the result, for the user. `start` also unseals with the keys of the
   * lab.
   */
  work(verb: ProcessVerb, name: string, timeoutMs: number): Promise<string>
  /**
   * Finds the last position of a DR primary before the lab took it down. Absent if the lab does not record positions.
   */
  findLastPosition?(cluster: string): Promise<LastPosition | undefined>
  /** Finds the active nodes, to which later requests go. Absent if the lab always knows the active nodes. */
  followActiveNodes?(): Promise<void>
}

/**
 * A handle of a running lab of any kind, for drills, snapshots and probes. The caller must close the handle. The lab
 * continues.
 */
export class LiveLab implements LabAccess {
  readonly kind: LabKind
  readonly name: string
  readonly topology: Topology
  readonly clock: Clock
  readonly events: LabEvents
  readonly #driver: LabDriver
  readonly #anonymous = new Map<string, ApiClient>()
  readonly #rootClients = new Map<string, { readonly token: string; readonly client: ApiClient }>()

  constructor(driver: LabDriver) {
    this.kind = driver.kind
    this.name = driver.name
    this.topology = driver.topology
    this.clock = driver.clock
    this.events = driver.events
    this.#driver = driver
  }

  /** Whether the links between the clusters can have faults. */
  get hasLinks(): boolean {
    return this.#driver.links !== 'none'
  }

  get clusters(): readonly ClusterAccess[] {
    return this.#driver.clusters()
  }

  async followActiveNodes(): Promise<void> {
    await this.#driver.followActiveNodes?.()
  }

  /**
   * Returns a cluster, or a node with the keys of its cluster. Throws LabError `usage` with the names of all clusters.
   */
  cluster(name: string): ClusterAccess {
    // Reads the clusters once, because some drivers read them from a file.
    const { clusters } = this
    const [, clusterName, nodeNumber = ''] = /^(.+)([1-9])$/.exec(name) ?? []
    const cluster = clusters.find((each) => each.name === clusterName)
    const apiAddress = cluster?.nodeAddresses?.[Number(nodeNumber) - 1]
    if (cluster && apiAddress !== undefined) return { ...cluster, name, apiAddress, nodeAddresses: undefined }
    return requireCluster({ name: this.name, clusters }, name)
  }

  /** Returns a client that sends each request to the last known active node. */
  #clientOf(name: string, rootToken: string): ApiClient {
    const cluster = this.cluster(name)
    const client = clientOf({ ...cluster, rootToken })
    return cluster.nodeAddresses ? client.with({ address: () => this.cluster(name).apiAddress }) : client
  }

  /** Returns the client of a cluster or node without a token. Closing the handle closes the client. */
  anonymous(name: string): ApiClient {
    const known = this.#anonymous.get(name)
    if (known) return known
    const client = this.#clientOf(name, '')
    this.#anonymous.set(name, client)
    return client
  }

  /**
   * Returns a client with a valid root token of the lab, or with one that is generated from its keys. Closing the
   * handle closes the client. Rejects with LabError `remote` if there is no valid token, as on a DR secondary.
   */
  async root(name: string): Promise<ApiClient> {
    const token = await this.rootToken(name)
    const known = this.#rootClients.get(name)
    if (known?.token === token) return known.client
    known?.client.close()
    const client = this.#clientOf(name, token)
    this.#rootClients.set(name, { token, client })
    return client
  }

  async rootToken(name: string): Promise<string> {
    return this.#rootTokenAt(this.cluster(name))
  }

  /**
   * Returns a root token that the server at the address of `cluster` accepts. Rejects with LabError `remote` if there
   * is none.
   */
  async #rootTokenAt(cluster: ClusterAccess): Promise<string> {
    const keep = (rootToken: string) => this.#driver.saveKeys(cluster.name, { rootToken })
    const { token, note } = await environmentOf(this, cluster, keep)
    if (token === undefined) throw new LabError('remote', note ?? `no token is valid on ${cluster.name}`)
    return token
  }

  /** Returns a client with this token. The caller must close the client. */
  withToken(name: string, token: string): ApiClient {
    return this.#clientOf(name, token)
  }

  keepKeys(name: string, keys: Partial<ClusterKeys>): void {
    this.#driver.saveKeys(this.cluster(name).name, keys)
  }

  /** Returns a runbook for operations on this lab. */
  runbook(options: Omit<RunbookOptions, 'clock' | 'rootTokenOf' | 'findLastPosition' | 'isCut'>): Runbook {
    const emit = (event: EventDraft) => this.events.append(event)
    const rootTokenOf = (cluster: ClusterAccess) => this.#rootTokenAt(cluster)
    const findLastPosition = async (name: string) => this.#driver.findLastPosition?.(name)
    // An exercise with a hidden fault would end if an error named its link.
    const isCut = async (one: string, other: string) =>
      findBetween(await this.faults(), [one], [other]).some((fault) => isShown(fault) && stopsTraffic(fault))
    return new Runbook(this, { emit, ...options, clock: this.clock, rootTokenOf, findLastPosition, isCut })
  }

  /** Runs an action on a cluster or node, and resolves to the result, for the user. */
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

  /** Returns the faults of the links between two clusters or nodes. The name of a cluster includes its nodes. */
  async faultsBetween(one: string, other: string): Promise<readonly ActiveFault[]> {
    const namesOf = (name: string) => [
      name,
      ...(this.cluster(name).nodeAddresses ?? []).map((_, index) => `${name}${index + 1}`),
    ]
    return findBetween(await this.faults(), namesOf(one), namesOf(other))
  }

  /** Removes these faults, or all, and resolves to the removed faults. */
  heal(ids?: readonly number[]): Promise<readonly ActiveFault[]> {
    return this.#driver.faults.heal(ids)
  }

  async close(): Promise<void> {
    for (const client of this.#anonymous.values()) client.close()
    for (const { client } of this.#rootClients.values()) client.close()
    this.#anonymous.clear()
    this.#rootClients.clear()
    this.events.close()
    // Faults in the lab daemon stay, because the daemon outlives the handle.
    if (this.#driver.links !== 'daemon') await this.heal()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
