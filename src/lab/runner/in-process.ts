import type { Clock } from '../../base/clock.js'
import { KeyedLock } from '../../base/keyed-lock.js'
import { type Log, silentLog } from '../../base/log.js'
import type { Random } from '../../base/random.js'
import { fillEngine } from '../../server/data/cluster-image.js'
import { Server } from '../../server/server.js'
import type { SharedMemory, SharedMemoryConnection } from '../../server/data/shared-memory.js'
import type { ServerStorage } from '../../server/data/server-storage.js'
import { loadServerConfig } from '../../server/config/server-config.js'
import { KINDS, type Kind } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import type { ClusterNetwork } from '../links/links.js'
import { type PortPair, randomPorts } from '../model/ports.js'
import { AT_REST, collect, eachOf, type ServerImage } from './server-image.js'
import { isStreaming } from '../requests/replication.js'
import { configOf, type ServerPlan } from './server-plan.js'

interface InProcessOptions extends ServerPlan {
  /** Default: free ports, chosen at the first start. */
  readonly ports?: PortPair | undefined
  /** Ports of the load balancer in front of the server, which it advertises. */
  readonly balancer?: PortPair | undefined
  readonly storage: ServerStorage
  /** The storage that the nodes of its cluster share. The server works on a copy of it. */
  readonly shared?: SharedMemory | undefined
  readonly network: ClusterNetwork
  readonly clock: Clock
  /** Continues after a crash, so that no identifier or nonce repeats. */
  readonly random: Random
  readonly log?: Log | undefined
}

/** Number of attempts with other ports if another process takes the chosen ones. */
const PORT_TRIES = 5

/** One server in this process. It keeps its ports on 127.0.0.1 and its data across restarts. */
export class InProcessServer {
  readonly #options: InProcessOptions
  #ports: PortPair | undefined
  #server: Server | undefined
  #shared: SharedMemoryConnection | undefined
  readonly #turns = new KeyedLock()
  #isOver = false

  constructor(options: InProcessOptions) {
    this.#options = options
    this.#ports = options.ports
  }

  /** The name of the server: that of its cluster, unless it is one of several nodes. */
  get name(): string {
    return this.#options.node ?? this.#options.name
  }

  get cluster(): string {
    return this.#options.name
  }

  /** Whether it is the single server or the active node of its cluster. */
  get isActive(): boolean {
    return this.#server !== undefined && this.#server.node?.isServing !== false
  }

  get isRunning(): boolean {
    return this.#server !== undefined
  }

  /** Known after the first start at the latest. */
  get ports(): PortPair {
    if (!this.#ports) throw new LabError('usage', `${this.name} was never started`)
    return this.#ports
  }

  /** The advertised cluster address. */
  get clusterAddress(): string {
    return `https://127.0.0.1:${(this.#options.balancer ?? this.ports).cluster}`
  }

  /** The advertised API address. */
  get apiAddress(): string {
    return `${this.#options.tls ? 'https' : 'http'}://127.0.0.1:${this.ports.api}`
  }

  /** Whether the server runs and is sealed. */
  get isSealed(): boolean {
    return this.#server !== undefined && (this.#server.runtime?.seal.isSealed ?? true)
  }

  /** Returns the replication status as in the API. Empty if there is none. */
  replicationStatus(kind: Kind): Readonly<Record<string, unknown>> {
    return this.#server?.replicationStatus(kind) ?? {}
  }

  /** Starts with the existing data. Does nothing if it runs. Throws LabError `interrupted` after `end`. */
  start(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#isOver) throw new LabError('interrupted', 'the lab was closed')
      if (this.#server) return
      if (this.#ports) this.#server = await this.#open(this.#ports)
      else await this.#startFirst()
    })
  }

  /** Stops the server as SIGTERM does. */
  stop(): Promise<void> {
    return this.#inTurn(async () => {
      const server = this.#server
      this.#server = undefined
      await server?.close()
    })
  }

  /** Stops the server permanently. */
  end(): Promise<void> {
    this.#isOver = true
    return this.stop()
  }

  /** Stops the server as SIGKILL does: its disk and sockets disappear at once, without cleanup. */
  crash(): Promise<void> {
    return this.#inTurn(async () => {
      const server = this.#server
      this.#server = undefined
      const { storage, network } = this.#options
      storage.kill()
      this.#shared?.crash()
      network.cut()
      // Closing fails on the dead disk. Only ports and timers must be released.
      await server?.close(0).catch(() => undefined)
      await storage.release()
    })
  }

  /** Blocks writes until the image is taken or `releaseFromImage` is called. */
  async pauseForImage(): Promise<void> {
    await this.#server?.images.pause()
  }

  releaseFromImage(): void {
    this.#server?.images.release()
  }

  /** Takes the image of the server. If it runs, call `pauseForImage` first. */
  async takeImage(): Promise<ServerImage> {
    const cut = this.#server?.images.cut()
    if (!cut) {
      const { storage } = this.#options
      const source = await storage.open()
      try {
        return { isRunning: false, state: AT_REST, streams: [], chunks: await collect(source.engine.scan({})) }
      } finally {
        await storage.release()
      }
    }
    const streams = KINDS.filter((kind) => isStreaming(this.replicationStatus(kind)))
    try {
      return { isRunning: true, state: cut.state, streams, chunks: await collect(cut.chunks) }
    } finally {
      await cut.close()
    }
  }

  /** Ends a disk fault. */
  mendDisk(): void {
    if (this.#server) this.#server.labState.disk.state = 'ok'
  }

  /** Restores the clock and the held states of an image. */
  behaveAs({ state }: ServerImage): void {
    this.#server?.images.behaveAs(state)
  }

  /** Stops serving and replicating until `loadImage`, and ends a disk fault. */
  async stopForImage({ isRunning }: ServerImage): Promise<void> {
    this.mendDisk()
    if (isRunning) await this.#server?.images.stop()
    else await this.stop()
  }

  async loadImage({ isRunning, state, chunks }: ServerImage): Promise<void> {
    if (this.#server) return this.#server.images.load({ state, chunks: eachOf(chunks) })
    const { storage } = this.#options
    const source = await storage.open()
    try {
      await source.replace((fresh) => fillEngine(fresh, eachOf(chunks)))
    } finally {
      await storage.release()
    }
    if (isRunning) await this.start()
  }

  /** Runs `work` after pending starts and stops, so that no server starts unnoticed during a shutdown. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    return this.#turns.run('', work)
  }

  async #startFirst(): Promise<void> {
    const { name } = this
    for (let left = PORT_TRIES; ; left--) {
      const ports = (await randomPorts([name])).get(name)
      if (!ports) throw new LabError('conflict', `no ports for ${name}`)
      try {
        this.#server = await this.#open(ports)
        this.#ports = ports
        return
      } catch (error) {
        const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
        if (!isTaken || left === 1) throw error
      }
    }
  }

  #open(ports: PortPair): Promise<Server> {
    const { name, storage, shared, network, clock, random, balancer, log = silentLog } = this.#options
    const advertised = balancer && {
      advertised: `127.0.0.1:${balancer.cluster}`,
      advertisedApi: `127.0.0.1:${balancer.api}`,
    }
    const text = JSON.stringify(configOf({ ...this.#options, ...advertised }, ports, shared ? undefined : storage.path))
    const env = { VAULT_LOCAL_CONFIG: text, VAULT_RAFT_NODE_ID: this.name }
    const { config, problems } = loadServerConfig([], env)
    if (!config) throw new LabError('usage', problems.map((problem) => problem.text).join('; '))
    this.#shared = shared?.connect(clock)
    return Server.start({
      config,
      log: log.with({ cluster: name, ...(shared && { node: this.name }) }),
      clock,
      random,
      network: network.begin(),
      sharedLog: this.#shared,
      openStorage: () => storage.open(),
    })
  }
}
