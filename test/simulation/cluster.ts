import { MemoryLog } from '../../src/storage/commit-log/memory-log.js'
import type { Server } from '../../src/server/server.js'
import type { Answer, Call } from './calls.js'
import { SimulatedNode, type Surroundings } from './node.js'

/** A cluster of one server, or of several nodes that share a log in memory, with a load balancer in front of them. */
export class SimulatedCluster {
  readonly name: string
  readonly nodes: readonly SimulatedNode[]
  readonly #surroundings: Surroundings

  constructor(name: string, index: number, surroundings: Surroundings) {
    const { clock, plan } = surroundings
    const { count, leaseMs, entriesMax } = { ...plan.nodes, count: plan.nodes.counts[index] ?? 1 }
    const log = count > 1 ? new MemoryLog({ clock, leaseMs, entriesMax }) : undefined
    this.name = name
    this.#surroundings = surroundings
    this.nodes = Array.from({ length: count }, (_, at) => {
      const ports = { api: 8200 + index * 10 + at * 2, cluster: 8201 + index * 10 + at * 2 }
      return new SimulatedNode({ name: log ? `${name}${at + 1}` : name, cluster: name, ports, log }, surroundings)
    })
  }

  get hasNodes(): boolean {
    return this.nodes.length > 1
  }

  /** That of the active node; undefined while there is none. */
  get server(): Server | undefined {
    return this.hasNodes ? this.serving[0]?.server : this.nodes[0]?.server
  }

  /** The nodes that take themselves for the active one. */
  get serving(): readonly SimulatedNode[] {
    return this.nodes.filter(({ server }) => server?.node?.isServing)
  }

  get clusterAddresses(): readonly string[] {
    return this.nodes.map(({ clusterAddress }) => clusterAddress)
  }

  /** Resolves to false when a process died before it was up. */
  async start(): Promise<boolean> {
    let areUp = true
    for (const node of this.nodes) if (!(await node.start())) areUp = false
    return areUp
  }

  /** Ends every node as by SIGKILL, or as by a loss of power, of which nobody is told. */
  crash(isPowerLost: boolean): void {
    for (const node of this.nodes) node.crash(isPowerLost)
  }

  /** Sends a request to a node that is open, as far as there is one. Undefined when no answer comes. */
  async call(call: Call): Promise<Answer | undefined> {
    return this.#pick()?.call(call)
  }

  #pick(): SimulatedNode | undefined {
    if (!this.hasNodes) return this.nodes[0]
    const open = this.nodes.filter(({ server }) => server?.runtime?.seal.isSealed === false)
    return this.#surroundings.chance.pick(open.length > 0 ? open : this.nodes)
  }
}
