import { MemoryLog } from '../../storage/shared-log/memory-log.js'
import type { ServerConfig } from '../config/config.js'
import type { Server } from '../server.js'
import type { Answer, Call } from './calls.js'
import { SimulatedNode, type Surroundings } from './node.js'
import { Identities } from '../../replication/rpc/simulated/identity.js'
import { Chance } from './chance.js'
import { History } from './history.js'
import { Network } from './network.js'
import { SimulatedClock } from './simulated-clock.js'

interface ClusterOptions {
  readonly name: string
  /** The servers of the cluster. Several servers share a log. */
  readonly servers: readonly { readonly name: string; readonly config: ServerConfig }[]
  readonly leaseMs: number
  /** Maximum number of entries in the shared log. Older entries are only in the image of the log. */
  readonly entriesMax?: number | undefined
}

/** A cluster of one server, or of several nodes with a shared in-memory log, behind a load balancer. */
export class SimulatedCluster {
  readonly name: string
  readonly nodes: readonly SimulatedNode[]
  readonly #surroundings: Surroundings

  constructor({ name, servers, leaseMs, entriesMax }: ClusterOptions, surroundings: Surroundings) {
    const { clock } = surroundings
    const log =
      servers.length > 1 ? new MemoryLog({ clock, leaseMs, ...(entriesMax ? { entriesMax } : {}) }) : undefined
    this.name = name
    this.#surroundings = surroundings
    this.nodes = servers.map((server) => new SimulatedNode({ ...server, log }, surroundings))
  }

  get hasNodes(): boolean {
    return this.nodes.length > 1
  }

  /** The active node's server; undefined while there is none. */
  get server(): Server | undefined {
    return this.hasNodes ? this.serving[0]?.server : this.nodes[0]?.server
  }

  /** The nodes that consider themselves active. There may be several after a change of the leader. */
  get serving(): readonly SimulatedNode[] {
    return this.nodes.filter(({ server }) => server?.node?.isServing)
  }

  get clusterAddresses(): readonly string[] {
    return this.nodes.map(({ clusterAddress }) => clusterAddress)
  }

  /** Starts all nodes. Resolves to false if a process died during startup. */
  async start(): Promise<boolean> {
    let areUp = true
    for (const node of this.nodes) if (!(await node.start())) areUp = false
    return areUp
  }

  /** Kills every node, as by SIGKILL. With `isPowerLost`, simulates a power failure: peers are not notified. */
  crash(isPowerLost: boolean): void {
    for (const node of this.nodes) node.crash(isPowerLost)
  }

  /** Sends a request to a random unsealed node, or to any node if all are sealed; undefined without a response. */
  async call(call: Call): Promise<Answer | undefined> {
    return this.#pick()?.call(call)
  }

  #pick(): SimulatedNode | undefined {
    if (!this.hasNodes) return this.nodes[0]
    const open = this.nodes.filter(({ server }) => server?.runtime?.seal.isSealed === false)
    return this.#surroundings.chance.pick(open.length > 0 ? open : this.nodes)
  }
}

interface WorldOptions extends Pick<Surroundings, 'seed' | 'diskDelayMsMax' | 'logDelayMsMax' | 'driftOf'> {
  readonly networkDelayMsMax: number
  readonly isTraced?: boolean
  readonly clusters: readonly ConstructorParameters<typeof SimulatedCluster>[0][]
}

/** Simulated clusters with their network, clock, disks and random numbers. The same seed gives the same run. */
export class SimulatedWorld {
  readonly clock: SimulatedClock
  readonly history: History
  readonly network: Network
  readonly clusters: readonly SimulatedCluster[]
  readonly #byApi: ReadonlyMap<string, SimulatedNode>

  constructor({ seed, networkDelayMsMax, isTraced = false, clusters, ...more }: WorldOptions) {
    const chance = new Chance(`${seed} schedule`)
    this.clock = new SimulatedClock(chance)
    this.history = new History(this.clock, isTraced)
    this.network = new Network({ clock: this.clock, chance, history: this.history, delayMsMax: networkDelayMsMax })
    const { clock, history, network } = this
    const identities = new Identities()
    const findByApi = (address: string) => this.findByApi(address)
    const surroundings = { ...more, seed, chance, clock, history, network, identities, findByApi }
    this.clusters = clusters.map((cluster) => new SimulatedCluster(cluster, surroundings))
    this.#byApi = new Map(this.nodes.map((node) => [node.apiAddress, node]))
  }

  get nodes(): readonly SimulatedNode[] {
    return this.clusters.flatMap(({ nodes }) => nodes)
  }

  /** Returns the node whose API has this address. */
  findByApi(address: string): SimulatedNode | undefined {
    return this.#byApi.get(address)
  }
}
