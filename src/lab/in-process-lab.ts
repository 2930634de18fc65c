import { rmSync } from 'node:fs'
import path from 'node:path'
import { type Clock, skewedClock, systemClock } from '../base/clock.js'
import { parseDurationMs } from '../base/duration.js'
import type { Log } from '../base/log.js'
import { createSeededRandom, createSystemRandom, type Random } from '../base/random.js'
import { createDirectoryStorage, createMemoryStorage, type ServerStorage } from '../server/server-storage.js'
import { LabCluster } from './in-process-cluster.js'
import type { OpenRoute } from './keeper/keeper.js'
import { KINDS, type Kind } from './kinds.js'
import { LabError } from './lab-error.js'
import { makeTemporaryDirectory } from './lifecycle/lab-directory.js'
import { type LabLink, Links } from './links.js'
import { findLag } from './replication.js'
import { InProcessServer } from './runner/in-process.js'
import type { LabSettings } from './settings.js'
import type { Topology } from './topology.js'
import { waitFor } from './wait.js'
import { joinClusters, openCluster, type WireOptions } from './wire.js'

export interface InProcessLabOptions {
  /** Makes identifiers, keys and faults repeatable. Without it they are the system's random numbers. */
  readonly seed?: number | string
  /** `memory` by default; `disk` is LevelDB in a temporary directory; or what each cluster is to have. */
  readonly storage?: 'memory' | 'disk' | ((cluster: string) => ServerStorage)
  /** Settings of the stanza `understudy`, for all clusters. */
  readonly settings?: LabSettings
  /** Bound on each wait; 30 s by default. */
  readonly timeoutMs?: number
  readonly log?: Log
}

/** The time that all clusters of a lab see. Timers run in real time. */
export interface LabClock extends Clock {
  /** Moves what the clocks show: milliseconds, or a duration such as `31m`. */
  advance(duration: string | number): void
}

const TIMEOUT_MS = 30_000

/** Clusters that run in this process, over real sockets of this machine. Whoever starts it closes it. */
export class InProcessLab {
  readonly topology: Topology
  readonly clock: LabClock
  readonly clusters: readonly LabCluster[]
  readonly #links = new Links()
  readonly #random: Random
  readonly #timeoutMs: number
  #directory: string | undefined

  private constructor(topology: Topology, options: InProcessLabOptions) {
    const { seed, storage = 'memory', settings = {}, log, timeoutMs = TIMEOUT_MS } = options
    const randomFor = (name: string): Random =>
      seed === undefined ? createSystemRandom() : createSeededRandom(`${seed}:${name}`)
    this.topology = topology
    this.clock = createLabClock()
    this.#timeoutMs = timeoutMs
    this.#random = randomFor('links')
    this.clusters = topology.clusters.map((name) => {
      const server = new InProcessServer({
        name,
        storage: typeof storage === 'string' ? this.#storageOf(name, storage) : storage(name),
        network: this.#links.networkOf(name),
        clock: this.clock,
        random: randomFor(name),
        settings,
        log,
      })
      return new LabCluster(name, server, this.clock, timeoutMs)
    })
  }

  /** Starts the clusters, initialises them, joins them as the topology says, and waits until they are replicated. */
  static async start(topology: Topology, options: InProcessLabOptions = {}): Promise<InProcessLab> {
    const lab = new InProcessLab(topology, options)
    try {
      await lab.#start()
      return lab
    } catch (error) {
      await lab.close()
      throw error
    }
  }

  cluster(name: string): LabCluster {
    const found = this.clusters.find((cluster) => cluster.name === name)
    if (!found) throw new LabError('usage', `the topology ${this.topology.name} has no cluster ${name}`)
    return found
  }

  /** What stands between two clusters. */
  link(one: string, other: string): LabLink {
    return this.#links.between(one, other)
  }

  /** Every proxy between two of the clusters. */
  get routes(): readonly OpenRoute[] {
    return this.#links.routes
  }

  /** Opens every link again, without faults. */
  heal(): void {
    this.#links.all().clearFaults()
  }

  /** Waits until every secondary that follows a cluster of this lab streams and has its primary's merkle root. */
  async converged(timeoutMs = this.#timeoutMs): Promise<void> {
    await waitFor(systemClock, 'every secondary to be replicated', () => this.#findLag(), timeoutMs)
  }

  async close(): Promise<void> {
    // A cut link would hold up whoever says goodbye.
    this.heal()
    await Promise.all(this.clusters.map((cluster) => cluster.stop()))
    await this.#links.close()
    if (this.#directory !== undefined) rmSync(this.#directory, { recursive: true, force: true })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #start(): Promise<void> {
    await Promise.all(this.clusters.map((cluster) => cluster.start()))
    const addresses = this.clusters.map((cluster): [string, readonly string[]] => [
      cluster.name,
      [cluster.address, cluster.clusterAddress].map((address) => new URL(address).host),
    ])
    await this.#links.open(new Map(addresses), { clock: systemClock, random: this.#random })
    const options: WireOptions = {
      shares: 1,
      threshold: 1,
      timeoutMs: this.#timeoutMs,
      clock: systemClock,
      onProgress: () => undefined,
    }
    const fresh = this.topology.clusters.map((name) => {
      const { apiAddress } = this.cluster(name)
      return { name, apiAddress, rootToken: '', unsealKeys: [], threshold: 0 }
    })
    const open = await Promise.all(fresh.map((cluster) => openCluster(cluster, options)))
    for (const opened of open) this.cluster(opened.name).useKeys(opened)
    for (const joined of await joinClusters(open, this.topology.links, options)) {
      this.cluster(joined.name).useKeys(joined)
    }
  }

  async #findLag(): Promise<string | undefined> {
    for (const cluster of this.clusters.filter(({ isRunning }) => isRunning)) {
      for (const kind of KINDS) {
        const lag = await this.#findLagOf(cluster, kind)
        if (lag !== undefined) return `${cluster.name} (${kind}): ${lag}`
      }
    }
    return undefined
  }

  async #findLagOf(cluster: LabCluster, kind: Kind): Promise<string | undefined> {
    const { mode, primary_cluster_addr: address } = await cluster.status(kind)
    if (mode === 'bootstrapping') return 'it is bootstrapping'
    if (mode !== 'secondary' || address === '') return undefined
    const primary = this.clusters.find(({ clusterAddress }) => clusterAddress === address)
    if (!primary) return undefined
    if (!primary.isRunning) return `its primary ${primary.name} does not run`
    return findLag(primary.anonymous, cluster.anonymous, kind)
  }

  #storageOf(name: string, kind: 'memory' | 'disk'): ServerStorage {
    if (kind === 'memory') return createMemoryStorage()
    this.#directory ??= makeTemporaryDirectory('in-process')
    return createDirectoryStorage(path.join(this.#directory, name))
  }
}

const createLabClock = (): LabClock => {
  let skewMs = 0
  return {
    ...skewedClock(systemClock, () => skewMs),
    advance(duration) {
      const ms = typeof duration === 'number' ? duration : parseDurationMs(duration)
      if (ms === undefined) throw new LabError('usage', `"${duration}" is not a duration such as 31m`)
      skewMs += ms
    },
  }
}
