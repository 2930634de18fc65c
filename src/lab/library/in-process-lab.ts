import { systemClock } from '../../base/clock.js'
import { type Random, randomBySeed } from '../../base/random.js'
import type { ClusterKeys } from '../model/cluster.js'
import { LabCluster } from '../in-process/in-process-cluster.js'
import { LabNode, nodeNamed } from '../in-process/in-process-node.js'
import type { OpenRoute } from '../daemon/open-routes.js'
import { LabError } from '../model/lab-error.js'
import { OperableLab, wireLab } from './operable-lab.js'
import { checkArguments } from '../documents/arguments.js'
import { DRILL_ARGUMENTS, type InProcessLabOptions, LINK_ARGUMENTS, requireOptions } from './options.js'
import type { LabResources } from './in-process-servers.js'
import { createLabClock, type LabClock } from './lab-clock.js'
import { LocalEvents } from '../live/local-events.js'
import type { LabEvent } from '../events/event.js'
import type { DrillResult } from '../drills/context/result.js'
import type { RunDrillOptions } from '../drills/run/run-drill.js'
import type { InProcessServer } from '../runner/in-process.js'
import {
  findUnreplicatedSince,
  type LabSnapshot,
  loadImages,
  restoreStates,
  takeImages,
} from '../snapshot/in-process.js'
import { nodeOf, reachOf } from '../model/routes.js'
import { type LabLink, Links } from '../links/links.js'
import { planOf, requireSharedMemory, type Topology, withNodes } from '../model/topology.js'
import { NEAR_PAUSE_MS, waitFor } from '../requests/wait.js'

/** For example, `A2`. */
type NodeName<Names extends string> = `${Names}${number}`

const TIMEOUT_MS = 30_000

/**
 * A lab whose clusters run in this process and communicate over local sockets. `startLab` starts such a lab. The caller
 * must close the lab.
 *
 * @example
 * import { InProcessLab, listTopologies } from 'understudy-lab'
 *
 * for (const topology of listTopologies()) {
 *   await using lab = await InProcessLab.start(topology, { timeoutMs: 60_000 })
 *   console.log(lab.clusters.map(({ name, address }) => `${name} ${address}`))
 * }
 */
export class InProcessLab<Names extends string = string> extends OperableLab<Names, LabCluster> {
  readonly #clock = createLabClock()
  readonly clock: LabClock = this.#clock
  readonly clusters: readonly LabCluster[]
  readonly #links = new Links((between, what, details) => {
    this.#events.emit({ kind: what, details: { between, ...details } })
  })
  readonly #events: LocalEvents
  readonly #servers: InProcessServer[] = []
  #initial: LabSnapshot | undefined
  readonly #resources: LabResources
  readonly #closing: AbortController
  #closed: Promise<void> | undefined

  private constructor(topology: Topology, options: InProcessLabOptions, resources: LabResources) {
    const { timeoutMs = TIMEOUT_MS } = options
    const closing = new AbortController()
    super(topology, timeoutMs, closing.signal)
    this.#closing = closing
    this.#resources = resources
    const { clock, keys } = this
    const skewMs = () => clock.skewMs
    this.#events = new LocalEvents(topology.name, systemClock, () => keys.access(), skewMs)
    const emit = this.#events.emit.bind(this.#events)
    this.clusters = topology.clusters.map((name) => {
      const { caFile } = resources.of(name).tls ?? {}
      const shared = { caFile, keys, emit, closing: closing.signal }
      const servers = resources.serversOf(name, { ...options, links: this.#links, clock })
      this.#servers.push(...servers)
      const node = { ...shared, cluster: name }
      const nodes = servers.map((server, at) => new LabNode({ ...node, name: `${name}${at + 1}`, server }))
      return new LabCluster({ ...shared, timeoutMs, name, nodes, clock })
    })
  }

  /** Starts the clusters, initializes and joins them as the topology describes, and waits until they are replicated. */
  static async start<N extends string>(
    topology: Topology,
    options: InProcessLabOptions = {},
  ): Promise<InProcessLab<N>> {
    requireOptions(topology, options)
    const { seed, nodes } = options
    const randomFor = randomBySeed(seed)
    const whole = nodes === undefined ? topology : withNodes(topology, nodes)
    requireSharedMemory(whole)
    // Imported here, because loading the server takes most of the library's import time.
    const { makeLabResources } = await import('./in-process-servers.js')
    const resources = await makeLabResources(whole, randomFor)
    let lab: InProcessLab<N> | undefined
    try {
      lab = new InProcessLab<N>(whole, options, resources)
      await lab.#start(options, randomFor('links'))
      return lab
    } catch (error) {
      await (lab ?? resources).close()
      throw error
    }
  }

  /**
   * Returns the link between two clusters or two nodes. Throws LabError `usage` for an unknown name, with all names.
   *
   * @example
   * lab.link('A', 'C').setFault('latency', { ms: 80 })
   */
  link(one: Names | NodeName<Names>, other: Names | NodeName<Names>): LabLink {
    const known: string[] = this.clusters.flatMap(({ name, nodes }) => [name, ...nodes.map((node) => node.name)])
    for (const name of [one, other]) if (!known.includes(name)) this.cluster(name as Names)
    if (one === other) throw new LabError('usage', 'specify two different clusters')
    return this.#links.between(one, other)
  }

  /** Returns a server such as `A2`. Throws LabError `usage` with the existing names if there is none. */
  node(name: NodeName<Names>): LabNode {
    return nodeNamed(this.clusters, name)
  }

  /** The proxies between all pairs of servers. */
  get routes(): readonly OpenRoute[] {
    return this.#links.routes
  }

  /** Heals every link and removes its faults. The latency of the topology stays. */
  heal(): void {
    this.#links.all().clearFaults()
  }

  /**
   * Runs a drill on the current lab: a bundled drill by name, a file, or the content of such a file as an object.
   * Resolves with the result even if an assertion fails (`verdict`). Rejects with LabError `usage` for a drill that is
   * unknown, invalid, or needs missing clusters, and with `interrupted` if the lab is closed. Does not reset the lab.
   *
   * @example
   * const { verdict, rto } = await lab.drill('dr-failover', { slo: { rtoMs: 60_000 } })
   */
  async drill(drill: string | object, options: RunDrillOptions = {}): Promise<DrillResult> {
    const { playDrill } = await import('./drill.js')
    return playDrill(this, drill, options, this.#closing.signal)
  }

  /**
   * The events from now on: requests through clients of the lab, link faults, and changes of process, seal, role and
   * state of its clusters, which are polled during iteration. Ends when the lab is closed.
   *
   * @example
   * for await (const { kind, cluster } of lab.events) if (kind === 'role' && cluster === 'B') break
   */
  get events(): AsyncIterable<LabEvent> {
    return this.#events
  }

  /** The event log of this lab, for drills. */
  get localEvents(): LocalEvents {
    return this.#events
  }

  /**
   * Captures all clusters at one time, with their keys and the clock of the lab. Valid for this lab while it is open.
   * Rejects with LabError `conflict` if a multi-node cluster has no active node.
   */
  async snapshot(): Promise<LabSnapshot> {
    const keys = this.clusters.map(({ name }): [string, ClusterKeys] => [name, this.keys.keysOf(name)])
    await Promise.all(this.#multiNodeClusters.filter(({ isRunning }) => isRunning).map((cluster) => cluster.active()))
    const clusters = this.clusters.map(({ name }) => this.#servers.filter(({ cluster }) => cluster === name))
    return { images: await takeImages(clusters), keys: new Map(keys), skewMs: this.clock.skewMs }
  }

  /**
   * Restores the lab to its state after the start, or to a snapshot: data, keys, clocks, and running servers. The
   * active node of a cluster may change. Removes the faults of links and disks. Resolves when every secondary that was
   * streaming at the time of the snapshot streams again and has the Merkle root of its primary. Rejects with LabError
   * `usage` for a value that is not a snapshot of this lab.
   */
  async reset(to: LabSnapshot | undefined = this.#initial): Promise<void> {
    if (!to?.images) throw new LabError('usage', 'reset: the argument is not a snapshot of a lab')
    const states = new Map(to.images.flatMap(({ servers }) => [...servers]))
    const isOwn = [...states.keys()].every((server) => this.#servers.includes(server))
    if (!isOwn) throw new LabError('usage', 'the snapshot is of another lab')
    this.heal()
    for (const server of this.#servers) server.restoreDisk()
    // The nodes of a cluster share its data. Loading an image requires an active node.
    await Promise.all(this.#multiNodeClusters.map((cluster) => cluster.start()))
    await loadImages(to.images)
    this.#clock.setSkew(to.skewMs)
    for (const [name, keys] of to.keys) this.keys.set(name, keys)
    const isClosed = (server: InProcessServer) => server.isSealed && states.get(server) === 'open'
    const closed = this.#servers.filter(isClosed).map(({ cluster }) => this.cluster(cluster as Names))
    // An unsealed node may still lack data, so a start also waits for the nodes of these clusters.
    await Promise.all([...new Set([...closed, ...this.#multiNodeClusters])].map((cluster) => cluster.start()))
    await Promise.all(this.#multiNodeClusters.map((cluster) => restoreStates(cluster, states)))
    const find = () => findUnreplicatedSince(to.images)
    const { signal } = this.#closing
    await waitFor(systemClock, 'every secondary to stream again', find, this.timeoutMs, signal, NEAR_PAUSE_MS)
  }

  /**
   * Closes all servers, connections, waits and timers of the lab, and deletes its data. The lab cannot be started
   * again. Further calls have no effect.
   */
  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  async #end(): Promise<void> {
    this.#closing.abort(new LabError('interrupted', 'the lab was closed'))
    this.#events.end()
    // A partitioned link would delay the graceful close of connections.
    this.#links.all().clearFaults()
    const ends = await Promise.allSettled(this.#servers.map((server) => server.end(this.#closing.signal.reason)))
    for (const cluster of this.clusters) cluster.disconnect()
    await this.#links.close()
    await this.#resources.close()
    for (const end of ends) if (end.status === 'rejected') throw end.reason
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #start({ shares = 1, threshold = shares }: InProcessLabOptions, random: Random): Promise<void> {
    const { topology, timeoutMs } = this
    await Promise.all(this.clusters.map((cluster) => cluster.start()))
    const reaches = this.#servers.map(({ name, cluster, ports }) => {
      const { balancer } = this.#resources.of(cluster)
      balancer?.routeTo(() => this.cluster(cluster as Names).activeNode.ports)
      const reach = reachOf(planOf(topology, cluster), ports, balancer?.ports)
      return [name, { ...reach, ...nodeOf(cluster, name) }] as const
    })
    await this.#links.open(new Map(reaches), { topology, clock: systemClock, random })
    await wireLab(this, this.keys, { shares, threshold, timeoutMs, clock: systemClock, signal: this.#closing.signal })
    this.#initial = await this.snapshot()
  }

  get #multiNodeClusters(): readonly LabCluster[] {
    return this.clusters.filter(({ nodes }) => nodes.length > 1)
  }

  protected override findFaultyLinks(): readonly string[] {
    return this.#links.findFaulty()
  }
}

checkArguments(InProcessLab.prototype, { ...LINK_ARGUMENTS, drill: DRILL_ARGUMENTS })
