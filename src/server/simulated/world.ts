import { Identities } from '../../replication/rpc/simulated/identity.js'
import { Chance } from './chance.js'
import { SimulatedCluster } from './cluster.js'
import { History } from './history.js'
import { Network } from './network.js'
import type { SimulatedNode, Surroundings } from './node.js'
import { SimulatedClock } from './simulated-clock.js'

interface WorldOptions extends Pick<Surroundings, 'seed' | 'diskDelayMsMax' | 'logDelayMsMax' | 'driftOf'> {
  readonly networkDelayMsMax: number
  readonly isTold?: boolean
  readonly clusters: readonly ConstructorParameters<typeof SimulatedCluster>[0][]
}

/** Simulated clusters and their environment, with one clock and one seed. */
export class SimulatedWorld {
  readonly clock: SimulatedClock
  readonly history: History
  readonly network: Network
  readonly clusters: readonly SimulatedCluster[]
  readonly #byApi: ReadonlyMap<string, SimulatedNode>

  constructor({ seed, networkDelayMsMax, isTold = false, clusters, ...more }: WorldOptions) {
    const chance = new Chance(`${seed} schedule`)
    this.clock = new SimulatedClock(chance)
    this.history = new History(this.clock, isTold)
    this.network = new Network({ clock: this.clock, chance, history: this.history, delayMsMax: networkDelayMsMax })
    const { clock, history, network } = this
    const identities = new Identities()
    const findByApi = (address: string) => this.findByApi(address)
    const surroundings = { ...more, seed, chance, clock, history, network, identities, findByApi }
    this.clusters = clusters.map((cluster) => new SimulatedCluster(cluster, surroundings))
    this.#byApi = new Map(this.nodes.map((node) => [node.apiAddress, node]))
  }

  /** All servers of all clusters. */
  get nodes(): readonly SimulatedNode[] {
    return this.clusters.flatMap(({ nodes }) => nodes)
  }

  /** Returns the server whose API has this address. */
  findByApi(address: string): SimulatedNode | undefined {
    return this.#byApi.get(address)
  }
}
