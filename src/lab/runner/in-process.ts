import type { Clock } from '../../base/clock.js'
import { KeyedLock } from '../../base/keyed-lock.js'
import { type Log, silentLog } from '../../base/log.js'
import type { Random } from '../../base/random.js'
import { fillEngine } from '../../server/lab/cluster-image.js'
import { Server } from '../../server/server.js'
import type { SharedMemory, SharedMemoryConnection } from '../../server/data/shared-memory.js'
import type { ServerStorage } from '../../server/data/server-storage.js'
import { loadServerConfig } from '../../server/config/server-config.js'
import { KINDS, type Kind } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import type { ClusterNetwork } from '../links/links.js'
import { type PortPair, randomPorts } from '../model/ports.js'
import { AT_REST, collect, eachOf, isStreaming, type ServerImage } from './server-image.js'
import { configOf, type ServerPlan } from './server-plan.js'

interface InProcessOptions extends ServerPlan {
  /** Free ones are chosen at the first start where none are given. */
  readonly ports?: PortPair | undefined
  /** Ports of the load balancer in front of the server; others are told these instead. */
  readonly balancer?: PortPair | undefined
  readonly storage: ServerStorage
  /** What it shares with the other nodes of its cluster; its storage is a copy of that. */
  readonly shared?: SharedMemory | undefined
  readonly network: ClusterNetwork
  readonly clock: Clock
  /** Goes on where it was after a crash, so that no identifier and no nonce comes twice. */
  readonly random: Random
  readonly log?: Log | undefined
}

/** How often other ports are chosen when somebody else was faster. */
const PORT_TRIES = 5

/** One server in this process, on real ports of 127.0.0.1 that it keeps, and the data that outlives it. */
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

  /** Of the server: that of its cluster, unless it is one of several nodes. */
  get name(): string {
    return this.#options.node ?? this.#options.name
  }

  get cluster(): string {
    return this.#options.name
  }

  /** The only one of its cluster, or the active one of its nodes. */
  get isActive(): boolean {
    return this.#server !== undefined && this.#server.node?.isServing !== false
  }

  get isRunning(): boolean {
    return this.#server !== undefined
  }

  /** Known from the first start on, at the latest. */
  get ports(): PortPair {
    if (!this.#ports) throw new LabError('usage', `${this.name} was never started`)
    return this.#ports
  }

  /** The cluster address as other clusters are told it. */
  get clusterAddress(): string {
    return `https://127.0.0.1:${(this.#options.balancer ?? this.ports).cluster}`
  }

  /** The API address as clients are told it. */
  get apiAddress(): string {
    return `${this.#options.tls ? 'https' : 'http'}://127.0.0.1:${this.ports.api}`
  }

  /** True of a server that runs and serves nobody until it is unsealed. */
  get isSealed(): boolean {
    return this.#server !== undefined && (this.#server.runtime?.seal.isSealed ?? true)
  }

  /** The status of replication as a read shows it; empty while there is none. */
  replicationStatus(kind: Kind): Readonly<Record<string, unknown>> {
    return this.#server?.replicationStatus(kind) ?? {}
  }

  /** Starts on what the last one left. Nothing happens when it runs. Throws LabError `interrupted` after `end`. */
  start(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#isOver) throw new LabError('interrupted', 'the lab was closed')
      if (this.#server) return
      if (this.#ports) this.#server = await this.#open(this.#ports)
      else await this.#startFirst()
    })
  }

  /** Ends as after SIGTERM. */
  stop(): Promise<void> {
    return this.#inTurn(async () => {
      const server = this.#server
      this.#server = undefined
      await server?.close()
    })
  }

  /** Stops the server for good. */
  end(): Promise<void> {
    this.#isOver = true
    return this.stop()
  }

  /** Ends as after SIGKILL: disk and sockets are gone from one moment to the next, and nothing is put in order. */
  crash(): Promise<void> {
    return this.#inTurn(async () => {
      const server = this.#server
      this.#server = undefined
      const { storage, network } = this.#options
      storage.kill()
      this.#shared?.crash()
      network.cut()
      // The closing server meets a dead disk and may say so; only its ports and timers have to go.
      await server?.close(0).catch(() => undefined)
      await storage.release()
    })
  }

  /** Nothing is written from now on, until the image is taken or `releaseFromImage`. */
  async pauseForImage(): Promise<void> {
    await this.#server?.images.pause()
  }

  releaseFromImage(): void {
    this.#server?.images.release()
  }

  /** Takes the image of the server; of one that runs, only after `pauseForImage`. */
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

  /** A fault of its disk is over. */
  mendDisk(): void {
    if (this.#server) this.#server.labState.disk.state = 'ok'
  }

  /** Its clock shows what it showed when the image was taken, and it is held where it was. */
  behaveAs({ state }: ServerImage): void {
    this.#server?.images.behaveAs(state)
  }

  /** The server serves and follows nobody from now on, until `loadImage`, and a fault of its disk is over. */
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

  /** Runs `work` after every start or end that is under way: no server comes up behind the back of whoever ends it. */
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
