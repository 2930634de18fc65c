import { SimulatedWorld } from '../../server/simulated/cluster.js'
import { LabCluster } from '../in-process/in-process-cluster.js'
import type { InProcessLab } from '../library/in-process-lab.js'
import { LabNode, type LabServer, nodeNamed } from '../in-process/in-process-node.js'
import { LabError } from '../model/lab-error.js'
import { OperableLab, wireLab } from '../library/operable-lab.js'
import { LINK_ARGUMENTS, requireSimulatedOptions, type SimulatedLabOptions } from '../library/options.js'
import type { LabSettings } from '../model/settings.js'
import { distanceOf } from '../model/routes.js'
import { serversOf, type Topology, withNodes } from '../model/topology.js'
import { leaseMsOf, settingsOf } from '../runner/server-plan.js'
import { checkArguments, refuse } from '../documents/arguments.js'
import { type SideOfLink, SimulatedLink } from './link.js'
import { requireSimulable, simulatedServersOf } from './servers.js'
import { VirtualTime } from './virtual-time.js'
import type { Exchange } from '../../client/exchange.js'
import type { SimulatedNode } from '../../server/simulated/node.js'

const TIMEOUT_MS = 120_000
/** Long intervals: virtual time passes quickly, but each keepalive uses CPU time. */
const SETTINGS: LabSettings = { keepalive_time: '5s', keepalive_timeout: '5s' }
/** Maximum delays of a message, a disk operation, and a request to the shared log, in milliseconds. */
const DELAYS = { networkDelayMsMax: 2, diskDelayMsMax: 1, logDelayMsMax: 1 }

const UNSUPPORTED: Readonly<Record<Exclude<keyof InProcessLab, keyof VirtualLab>, string>> = {
  drill: 'drills run in real time; use failover, switchover and rejoin',
  events: 'events are emitted in real time; history has the hash of all steps',
  localEvents: 'events are emitted in real time',
  snapshot: 'to reproduce a state, repeat the same calls with the same seed',
  reset: 'start another lab with the same seed',
  routes: 'its network has no proxies; use link to inject faults',
}

const NO_ADDRESS = { address: 'it has no address; use client or anonymous' }

/** A lab in virtual time. `startLab` starts such a lab with the option `simulated`. */
export class VirtualLab<Names extends string = string> extends OperableLab<Names, LabCluster> {
  readonly clock: VirtualTime
  readonly clusters: readonly LabCluster[]
  readonly #world: SimulatedWorld
  readonly #closing: AbortController
  readonly #links = new Map<string, SimulatedLink>()

  static {
    refuse(VirtualLab.prototype, 'a simulated lab', UNSUPPORTED)
    checkArguments(VirtualLab.prototype, LINK_ARGUMENTS)
  }

  private constructor(
    topology: Topology,
    { timeoutMs = TIMEOUT_MS }: SimulatedLabOptions,
    { world, time }: { readonly world: SimulatedWorld; readonly time: VirtualTime },
  ) {
    const closing = new AbortController()
    const exchange = exchangeWith(world, time)
    super(topology, timeoutMs, closing.signal, { clock: time, exchange })
    this.#closing = closing
    this.#world = world
    this.clock = time
    const { keys } = this
    this.clusters = world.clusters.map(({ name, nodes }) => {
      const shared = { caFile: undefined, keys, exchange, closing: closing.signal, emit: () => undefined }
      const servers = nodes.map(
        (node, at) => new LabNode({ ...shared, name: `${name}${at + 1}`, cluster: name, server: serverOf(node, time) }),
      )
      const cluster = new LabCluster({ ...shared, timeoutMs, name, nodes: servers, clock: time })
      for (const one of [cluster, ...servers]) refuse(one, 'a simulated lab', NO_ADDRESS)
      return cluster
    })
  }

  /** Starts the clusters, initializes and joins them as the topology describes, and waits until they are replicated. */
  static async start<N extends string>(given: Topology, options: SimulatedLabOptions): Promise<VirtualLab<N>> {
    requireSimulatedOptions(options)
    const { seed = 1, nodes, settings } = options
    const topology = nodes === undefined ? given : withNodes(given, nodes)
    requireSimulable(topology)
    const clusters = topology.clusters.map((name, index) => {
      const own = { ...SETTINGS, ...settingsOf(topology, name), ...settings }
      const servers = simulatedServersOf(name, index, serversOf(topology, name).length, own)
      return { name, servers, leaseMs: leaseMsOf(own) }
    })
    const world = new SimulatedWorld({ seed: String(seed), ...DELAYS, driftOf: () => 1, clusters })
    const lab = new VirtualLab<N>(topology, options, { world, time: new VirtualTime(world.clock) })
    try {
      await lab.#start(options)
      return lab
    } catch (error) {
      await lab.close()
      throw error
    }
  }

  /** The number of events so far, and their hash. The same seed and the same calls result in the same hash. */
  get history(): { readonly hash: string; readonly events: number } {
    const { hash, events } = this.#world.history
    return { hash, events }
  }

  /**
   * Returns the link between two clusters or two nodes. Throws LabError `usage` with the existing names if there is
   * none.
   *
   * @example
   * lab.link('A', 'B').partition()
   */
  link(one: Names | `${Names}${number}`, other: Names | `${Names}${number}`): SimulatedLink {
    if (one === other) throw new LabError('usage', 'specify two different clusters')
    const key = [one, other].sort().join(' ')
    const found = this.#links.get(key)
    if (found) return found
    const made = new SimulatedLink(
      this.#world.network,
      [this.#sideOf(one), this.#sideOf(other)],
      distanceOf(this.topology, one, other).latencyMs ?? 0,
    )
    this.#links.set(key, made)
    return made
  }

  /** Returns a server such as `A2`. Throws LabError `usage` with the existing names if there is none. */
  node(name: `${Names}${number}`): LabNode {
    return nodeNamed(this.clusters, name)
  }

  /** Heals every link and removes its latency. */
  heal(): void {
    for (const link of this.#links.values()) {
      link.heal()
      link.setLatency(0)
    }
  }

  /** Closes all servers, and rejects current and later requests and waits. Further calls have no effect. */
  async close(): Promise<void> {
    const closed = new LabError('interrupted', 'the lab was closed')
    this.#closing.abort(closed)
    this.clock.close(closed)
    for (const node of this.#world.nodes) node.loseDisk()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  protected override findFaultyLinks(): readonly string[] {
    return [...this.#links].filter(([, link]) => !link.isClear).map(([key]) => key.replace(' ', '-'))
  }

  #sideOf(name: string): SideOfLink {
    const cluster = this.#world.clusters.find((one) => one.name === name)
    if (cluster) return { name, servers: cluster.nodes.map((node) => node.name) }
    const nodes = this.#world.nodes.map((node) => node.name)
    if (!nodes.includes(name))
      throw new LabError('usage', `the lab has no cluster or node ${name}; its servers are ${nodes.join(', ')}`)
    return { name, servers: [name] }
  }

  async #start({ shares = 1, threshold = shares }: SimulatedLabOptions): Promise<void> {
    for (const { primary, secondary } of this.topology.links) this.link(primary as Names, secondary as Names)
    await Promise.all(this.clusters.map((cluster) => cluster.start()))
    const { timeoutMs, clock } = this
    await wireLab(this, this.keys, { shares, threshold, timeoutMs, clock, signal: this.#closing.signal })
  }
}

const NO_BODY = Buffer.alloc(0)

/** Returns the transport for requests to simulated servers. Virtual time passes until the response. */
const exchangeWith =
  (world: SimulatedWorld, time: VirtualTime): Exchange =>
  async ({ method, url, headers, body = NO_BODY, timeoutMs }) => {
    const { origin } = new URL(url)
    const names = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
    const message = { verb: method, url: url.slice(origin.length), headers: Object.fromEntries(names), body }
    const timeout = new AbortController()
    const timedOut = new Promise<undefined>((resolve) => {
      timeout.signal.addEventListener('abort', () => resolve(undefined))
    })
    const answer = await time.passUntil(async () => {
      const timer = world.clock.setTimer(timeoutMs, () => timeout.abort())
      const response = world.findByApi(origin)?.exchange(message)
      const found = await Promise.race([response ?? Promise.resolve(undefined), timedOut])
      timer.cancel()
      return found
    })
    if (answer) return answer
    throw new Error(
      timeout.signal.aborted
        ? `${origin} did not respond within ${timeoutMs} ms of virtual time`
        : `no running server has the address ${origin}`,
    )
  }

/** Adapts a server of a simulated lab to the interface of lab clusters. */
const serverOf = (node: SimulatedNode, time: VirtualTime): LabServer => ({
  get isRunning() {
    return node.server !== undefined
  },
  get isActive() {
    return node.server !== undefined && node.server.node?.isServing !== false
  },
  get ports(): never {
    throw new LabError('usage', `${node.name} is simulated and has no ports`)
  },
  apiAddress: node.apiAddress,
  clusterAddress: `https://${node.clusterAddress}`,
  start: async () => {
    await time.passUntil(() => node.start())
  },
  stop: () => time.passUntil(() => node.stop()),
  crash: async () => node.crash(false),
})
