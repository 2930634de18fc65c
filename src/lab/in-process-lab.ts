import { rmSync } from 'node:fs'
import path from 'node:path'
import { type Clock, skewedClock, systemClock } from '../base/clock.js'
import { parseDurationMs } from '../base/duration.js'
import { createSeededRandom, createSystemRandom, type Random } from '../base/random.js'
import type { ServerStorage } from '../server/server-storage.js'
import type { LabAccess } from './cluster.js'
import { LabCluster } from './in-process-cluster.js'
import type { OpenRoute } from './keeper/keeper.js'
import type { Kind } from './kinds.js'
import { LabError } from './lab-error.js'
import { findProblems, findUnreplicated } from './library/findings.js'
import { type ClusterKeys, KeyRing } from './library/key-ring.js'
import { type InProcessLabOptions, requireOptions } from './library/options.js'
import { EventStream } from './library/event-stream.js'
import { LocalEvents } from './live/local-events.js'
import type { LabEvent } from './events/event.js'
import type { DrillResult } from './drills/result.js'
import type { RunDrillOptions } from './drills/run-drill.js'
import type { InProcessServer } from './runner/in-process.js'
import { loadServerImages, type ServerImages, takeServerImages } from './snapshot/in-process.js'
import { makeTemporaryDirectory } from './lifecycle/lab-directory.js'
import { type LabLink, Links } from './links.js'
import { activate, failOver, operationToken, rejoin, switchOver } from './operations/operations.js'
import { Runbook } from './operations/runbook.js'
import { type ClusterPlan, planOf, type Topology } from './topology.js'
import type { LabSettings } from './settings.js'
import { waitFor } from './wait.js'
import { makeTopology, openCluster, type WireOptions } from './wire.js'

export type { InProcessLabOptions } from './library/options.js'

/** A lab at one moment, in memory. */
export interface InProcessSnapshot {
  readonly images: ServerImages
  readonly keys: ReadonlyMap<string, ClusterKeys>
  readonly skewMs: number
}

/** The time that all clusters of a lab see. Timers run in real time. */
export interface LabClock extends Clock {
  /** How far what the clocks show was moved. */
  readonly skewMs: number
  /** Moves what the clocks show: milliseconds, or a duration such as `31m`. */
  advance(duration: string | number): void
}

const TIMEOUT_MS = 30_000

type ServerParts = typeof import('./runner/server-parts.js')

/** Which cluster follows whom, of which kind. */
export interface ActivateOptions {
  readonly kind: Kind
  /** What a performance secondary is kept from, or all that it has: mounts such as `kv/`, or namespaces. */
  readonly filter?: { readonly mode: 'allow' | 'deny'; readonly paths: readonly string[] } | undefined
}

/** Seen by whoever wants to know what an operation calls. */
export interface OperationOptions {
  /** Told of each call as the command line that makes it by hand. */
  readonly onCall?: ((line: string) => void) | undefined
}

/** What a lab waits for. */
export interface WaitOptions {
  /** Milliseconds; by default the `timeoutMs` of the lab. */
  readonly timeoutMs?: number | undefined
}

/** Clusters that run in this process, over real sockets of this machine. Whoever starts it closes it. */
export class InProcessLab<Names extends string = string> {
  readonly topology: Topology
  readonly clock: LabClock
  readonly clusters: readonly LabCluster[]
  readonly #links = new Links((between, what, details) => {
    this.#events.tell({ kind: what, details: { between, ...details } })
  })
  readonly #keys: KeyRing
  readonly #events: LocalEvents
  readonly #stream: EventStream
  readonly #random: Random
  readonly #timeoutMs: number
  readonly #parts: ServerParts
  readonly #servers: readonly InProcessServer[]
  #begin: InProcessSnapshot | undefined
  #directory: string | undefined

  private constructor(topology: Topology, options: InProcessLabOptions, parts: ServerParts) {
    const { seed, storage = 'memory', settings = {}, log, timeoutMs = TIMEOUT_MS } = options
    const randomFor = (name: string): Random =>
      seed === undefined ? createSystemRandom() : createSeededRandom(`${seed}:${name}`)
    this.topology = topology
    this.clock = createLabClock()
    this.#timeoutMs = timeoutMs
    this.#parts = parts
    this.#random = randomFor('links')
    this.#keys = new KeyRing(() => this.clusters, systemClock)
    this.#events = new LocalEvents(topology.name, systemClock, () => this.access().clusters)
    this.#stream = new EventStream(this.#events)
    this.#servers = topology.clusters.map(
      (name) =>
        new parts.InProcessServer({
          name,
          storage: typeof storage === 'string' ? this.#storageOf(name, storage) : storage(name),
          network: this.#links.networkOf(name),
          clock: this.clock,
          random: randomFor(name),
          settings: { ...settingsOf(planOf(topology, name)), ...settings },
          log,
        }),
    )
    this.clusters = this.#servers.map(
      (server) =>
        new LabCluster(server.name, server, this.clock, timeoutMs, this.#keys, (draft) => this.#events.tell(draft)),
    )
  }

  /** Starts the clusters, initialises them, joins them as the topology says, and waits until they are replicated. */
  static async start<N extends string>(
    topology: Topology,
    options: InProcessLabOptions = {},
  ): Promise<InProcessLab<N>> {
    requireOptions(options)
    requireInProcess(topology)
    // Most of the time to import the library would go into what only a server needs.
    const lab = new InProcessLab<N>(topology, options, await import('./runner/server-parts.js'))
    try {
      await lab.#start(options)
      return lab
    } catch (error) {
      await lab.close()
      throw error
    }
  }

  /** The same as `lab.A`, for names that are only known when the program runs. Throws LabError `usage`. */
  cluster(name: Names): LabCluster {
    const found = this.clusters.find((cluster) => cluster.name === name)
    if (found) return found
    const names = this.clusters.map((cluster) => cluster.name).join(', ')
    throw new LabError('usage', `the topology ${this.topology.name} has no cluster ${name}; it has ${names}`)
  }

  /**
   * What stands between two clusters. Throws LabError `usage` where there are no such two.
   *
   *   lab.link('A', 'C').setFault('latency', { ms: 80 })
   */
  link(one: Names, other: Names): LabLink {
    return this.#links.between(one, other)
  }

  /** Every proxy between two of the clusters. */
  get routes(): readonly OpenRoute[] {
    return this.#links.routes
  }

  /** Opens every link again, without faults but for the latency that the topology gives it. */
  heal(): void {
    this.#links.all().clearFaults()
  }

  /**
   * The primary is lost, and its DR secondary takes over. With `force` also when it may lack what the primary had. Rejects
   * with the refusal (ApiError) or with LabError.
   *
   *   await lab.A.crash()
   *   await lab.failover('A', 'B')
   */
  async failover(
    lost: Names,
    to: Names,
    { force = false, ...options }: OperationOptions & { readonly force?: boolean | undefined } = {},
  ): Promise<void> {
    await this.#operate([lost, to], options, (book) => failOver(book, to, force))
  }

  /** Primary and DR secondary change places while both are well: nothing is lost. Rejects as `failover` does. */
  async switchover(primary: Names, secondary: Names, options: OperationOptions = {}): Promise<void> {
    await this.#operate([primary, secondary], options, (book) => switchOver(book, primary, secondary))
  }

  /** A former primary that runs again follows its successor as a DR secondary. Rejects as `failover` does. */
  async rejoin(former: Names, primary: Names, options: OperationOptions = {}): Promise<void> {
    await this.#operate([former, primary], options, (book) => rejoin(book, former, primary))
  }

  /**
   * Makes one cluster a secondary of another and waits until it is replicated; everything on it is wiped. Rejects with
   * LabError `remote` where it takes part in replication of this kind already.
   *
   *   await lab.activate('A', 'C', { kind: 'performance', filter: { mode: 'deny', paths: ['EU/'] } })
   */
  async activate(
    primary: Names,
    secondary: Names,
    { kind, filter, ...options }: ActivateOptions & OperationOptions,
  ): Promise<void> {
    if (filter && kind !== 'performance') throw new LabError('usage', 'only performance secondaries have filters')
    const text = filter && { mode: filter.mode, paths: filter.paths.join(',') }
    await this.#operate([primary, secondary], options, (book) => activate(book, primary, secondary, kind, text))
  }

  /** A one-time token that a DR secondary takes for an operation, such as `secondary/promote`. */
  async operationToken(secondary: Names, options: OperationOptions = {}): Promise<string> {
    return this.#operate([secondary], options, (book) => operationToken(book, secondary))
  }

  /**
   * Waits until every secondary streams and has its primary's merkle root. One that follows nobody although it is a secondary,
   * or is one by the topology, is not replicated, and neither is one that is stopped while its primary runs. Rejects with
   * LabError `timeout`, which names the cluster and what is still false.
   */
  async converged({ timeoutMs = this.#timeoutMs }: WaitOptions = {}): Promise<void> {
    const find = () => findUnreplicated(this.clusters, this.topology)
    await waitFor(systemClock, 'every secondary to be replicated', find, timeoutMs)
    await this.#keys.settle()
  }

  /**
   * Waits until nothing is wrong: every cluster runs and is unsealed, no link has a fault, every secondary streams, and no two
   * are primaries of one set. Rejects with LabError `timeout`, which names what is wrong.
   */
  async healthy({ timeoutMs = this.#timeoutMs }: WaitOptions = {}): Promise<void> {
    const find = async () => {
      const problems = await this.problems()
      return problems.length === 0 ? undefined : problems.join('; ')
    }
    await waitFor(systemClock, 'the lab to be healthy', find, timeoutMs)
  }

  /** What is wrong at this moment, in words that name the cluster; empty when the lab is well. */
  problems(): Promise<string[]> {
    return findProblems(this.clusters, this.#links.findFaulty())
  }

  /**
   * Plays a drill on this lab, as it stands: one of the catalogue by name, a file, or what such a file says as an object. It
   * resolves with what came of it, also where something that the drill asserts is not so (`verdict`), and leaves the lab as the
   * drill left it. Rejects with LabError `usage` for a drill that is not known, is wrong, or needs clusters that are not there.
   *
   *   const { verdict, rto } = await lab.drill('dr-failover', { slo: { rtoMs: 60_000 } })
   */
  async drill(drill: string | object, options: RunDrillOptions = {}): Promise<DrillResult> {
    const { playDrill } = await import('./library/drill.js')
    return playDrill(this, drill, options)
  }

  /**
   * What happens from now on: calls through clients of the lab, faults of its links, and changes of process, seal, role and
   * state of its clusters, which are looked at while somebody iterates. Ends when the lab is closed.
   *
   *   for await (const { kind, cluster } of lab.events) if (kind === 'role' && cluster === 'B') break
   */
  get events(): AsyncIterable<LabEvent> {
    return this.#stream
  }

  /** Where events of this lab are told, for those who work on it in their own way. */
  get localEvents(): LocalEvents {
    return this.#events
  }

  /** The lab as operations and drills work on it. Its clusters are what is known of them at the moment they are asked for. */
  access(): LabAccess {
    const keys = this.#keys
    return {
      name: this.topology.name,
      get clusters() {
        return keys.access()
      },
    }
  }

  /** All clusters at one moment, with their keys and the clock of the lab. It is good for this lab, as long as that is open. */
  async snapshot(): Promise<InProcessSnapshot> {
    const keys = this.clusters.map(({ name }): [string, ClusterKeys] => [name, this.#keys.keysOf(name)])
    return { images: await takeServerImages(this.#servers), keys: new Map(keys), skewMs: this.clock.skewMs }
  }

  /**
   * The lab as it was right after its start, or when a snapshot of it was taken: data, keys, clocks, and which clusters run.
   * Links are healed. Resolves when every secondary streams again.
   */
  async reset(to: InProcessSnapshot | undefined = this.#begin): Promise<void> {
    if (!to) throw new LabError('usage', 'the lab has not started')
    this.heal()
    await loadServerImages(to.images)
    this.clock.advance(to.skewMs - this.clock.skewMs)
    for (const [name, keys] of to.keys) this.#keys.set(name, keys)
    const sealed = new Set([...to.images].filter(([, { state }]) => state.isSealed).map(([{ name }]) => name))
    const open = this.clusters.filter(({ name, isRunning }) => isRunning && !sealed.has(name))
    await Promise.all(open.map((cluster) => cluster.start()))
    await this.converged()
  }

  /** Ends all servers, connections and timers of the lab, and removes its data. Closing it again does nothing. */
  async close(): Promise<void> {
    this.#stream.close()
    this.#events.close()
    // A cut link would hold up whoever says goodbye.
    this.#links.all().clearFaults()
    await Promise.all(this.clusters.map((cluster) => cluster.stop()))
    await this.#links.close()
    if (this.#directory !== undefined) rmSync(this.#directory, { recursive: true, force: true })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #start({ shares = 1, threshold = shares }: InProcessLabOptions): Promise<void> {
    await Promise.all(this.clusters.map((cluster) => cluster.start()))
    const addresses = this.clusters.map((cluster): [string, readonly string[]] => [
      cluster.name,
      [cluster.address, cluster.clusterAddress].map((address) => new URL(address).host),
    ])
    await this.#links.open(new Map(addresses), {
      clock: systemClock,
      random: this.#random,
      distances: this.topology.links,
    })
    const options: WireOptions = {
      shares,
      threshold,
      plans: this.topology.plans,
      timeoutMs: this.#timeoutMs,
      clock: systemClock,
      onProgress: () => undefined,
    }
    const fresh = this.access().clusters
    const open = await Promise.all(fresh.map((cluster) => openCluster(cluster, options)))
    for (const opened of open) this.#keys.set(opened.name, opened)
    for (const joined of await makeTopology(open, this.topology, options)) this.#keys.set(joined.name, joined)
    this.#begin = await this.snapshot()
  }

  /** The same code as the commands of these names. */
  async #operate<T>(
    names: readonly Names[],
    { onCall }: OperationOptions,
    work: (book: Runbook) => Promise<T>,
  ): Promise<T> {
    for (const name of names) this.cluster(name)
    if (new Set(names).size < names.length) throw new LabError('usage', 'name two clusters')
    const keys = this.#keys
    const book = new Runbook(this.access(), {
      clock: systemClock,
      timeoutMs: this.#timeoutMs,
      onProgress: () => undefined,
      onCall,
      rootTokenOf: async (cluster) => (await keys.findToken(cluster)) ?? '',
    })
    try {
      return await work(book)
    } finally {
      await keys.settle()
    }
  }

  #storageOf(name: string, kind: 'memory' | 'disk'): ServerStorage {
    if (kind === 'memory') return this.#parts.createMemoryStorage()
    this.#directory ??= makeTemporaryDirectory('in-process')
    return this.#parts.createDirectoryStorage(path.join(this.#directory, name))
  }
}

/** What a topology may ask for and clusters in one process do not have is refused, never left out in silence. */
const requireInProcess = (topology: Topology): void => {
  for (const name of topology.clusters) {
    const { tls, seal } = planOf(topology, name)
    const what = tls ? 'an API with TLS' : seal?.type === 'auto' ? 'a seal that opens itself' : undefined
    if (what) {
      throw new LabError(
        'usage',
        `the topology ${topology.name} gives ${name} ${what}, which clusters in one process do not have: "understudy up" starts it with processes`,
      )
    }
  }
}

/** What a topology says of a cluster, as settings of its server. */
const settingsOf = ({ license, version, settings }: ClusterPlan): LabSettings => ({
  ...(license ? { license } : {}),
  ...(version ? { reported_version: version } : {}),
  ...settings,
})

const createLabClock = (): LabClock => {
  let skewMs = 0
  return {
    ...skewedClock(systemClock, () => skewMs),
    get skewMs() {
      return skewMs
    },
    advance(duration) {
      const ms = typeof duration === 'number' ? duration : parseDurationMs(duration)
      if (ms === undefined) throw new LabError('usage', `"${duration}" is not a duration such as 31m`)
      skewMs += ms
    },
  }
}
