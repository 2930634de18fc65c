import { type Log, silentLog } from '../../base/log.js'
import type { Random } from '../../base/random.js'
import { type Entry, fillEngine, type ImageState } from '../../server/data/cluster-image.js'
import { Server } from '../../server/server.js'
import type { ServerStorage } from '../../server/data/server-storage.js'
import { loadServerConfig } from '../../server/config/server-config.js'
import { KINDS, type Kind } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import { type PortPair, randomPorts } from '../model/ports.js'
import { isStreaming, parseStatus, type ReplicationStatus } from '../requests/replication-status.js'
import { type HandleOptions, ServerHandle } from './server-handle.js'
import { configOf, type ServerPlan } from './server-plan.js'

interface InProcessOptions extends ServerPlan, HandleOptions {
  /** The ports of the server. Default: free ports that are chosen at the first start. */
  readonly ports?: PortPair | undefined
  /** Ports of the load balancer in front of the server. The server advertises these ports. */
  readonly balancer?: PortPair | undefined
  readonly storage: ServerStorage
  /** The random source, which all runs of the server share, so that no identifier or nonce repeats after a crash. */
  readonly random: Random
  readonly log?: Log | undefined
}

/** All data of a server at one time, in memory. */
export interface ServerImage {
  readonly isRunning: boolean
  readonly state: ImageState
  readonly chunks: readonly (readonly Entry[])[]
  /** The kinds of replication in which the server streamed from a primary. */
  readonly streams: readonly Kind[]
}

/** The state of a stopped server. */
const AT_REST: ImageState = { skewMs: 0, holds: [], isSealed: true }

/** Number of attempts to start, each with other ports, because another process may bind a chosen port first. */
const PORT_TRIES = 5

/** One server in this process. It keeps its ports on 127.0.0.1 and its data across restarts. */
export class InProcessServer extends ServerHandle {
  readonly #options: InProcessOptions
  #ports: PortPair | undefined

  constructor(options: InProcessOptions) {
    super(options)
    this.#options = options
    this.#ports = options.ports
  }

  /** The name of the server: the name of the node in a multi-node cluster, otherwise the name of the cluster. */
  get name(): string {
    return this.#options.node ?? this.#options.name
  }

  get cluster(): string {
    return this.#options.name
  }

  /** Whether the server runs, as a single server or as the active node of its cluster. */
  get isActive(): boolean {
    return this.server !== undefined && this.server.node?.isServing !== false
  }

  get isRunning(): boolean {
    return this.server !== undefined
  }

  /** The ports of the server. Throws LabError `usage` if they are not configured and the server was never started. */
  get ports(): PortPair {
    if (!this.#ports) throw new LabError('usage', `${this.name} has no ports before its first start: call start()`)
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
    return this.server !== undefined && (this.server.runtime?.seal.isSealed ?? true)
  }

  replicationStatus(kind: Kind): ReplicationStatus {
    return parseStatus(kind, this.server?.replicationStatus(kind) ?? {})
  }

  /** Blocks writes until the image is taken or `releaseFromImage` is called. */
  async pauseForImage(): Promise<void> {
    await this.server?.images.pause()
  }

  releaseFromImage(): void {
    this.server?.images.release()
  }

  /** Takes the image of the server. If it runs, call `pauseForImage` first. */
  async takeImage(): Promise<ServerImage> {
    const cut = this.server?.images.cut()
    if (!cut) {
      const chunks = await this.#onStorage((source) => collect(source.engine.scan({})))
      return { isRunning: false, state: AT_REST, streams: [], chunks }
    }
    const streams = KINDS.filter((kind) => isStreaming(this.replicationStatus(kind)))
    try {
      return { isRunning: true, state: cut.state, streams, chunks: await collect(cut.chunks) }
    } finally {
      await cut.close()
    }
  }

  /** Ends a disk fault. */
  restoreDisk(): void {
    if (this.server) this.server.labState.disk.state = 'ok'
  }

  /** Restores the clock and the held states of an image. */
  behaveAs({ state }: ServerImage): void {
    this.server?.images.applyLabState(state)
  }

  /** Stops serving and replicating until `loadImage`, and ends a disk fault. */
  async stopForImage({ isRunning }: ServerImage): Promise<void> {
    this.restoreDisk()
    if (isRunning) await this.server?.images.stop()
    else await this.stop()
  }

  async loadImage({ isRunning, state, chunks }: ServerImage): Promise<void> {
    if (this.server) return this.server.images.load({ state, chunks: eachOf(chunks) })
    await this.#onStorage((source) => source.replace((fresh) => fillEngine(fresh, eachOf(chunks))))
    if (isRunning) await this.start()
  }

  /** Runs work on the data of the stopped server. */
  async #onStorage<T>(work: (source: Awaited<ReturnType<ServerStorage['open']>>) => Promise<T>): Promise<T> {
    const { storage } = this.#options
    const source = await storage.open()
    try {
      return await work(source)
    } finally {
      await storage.release()
    }
  }

  /** @internal */
  protected async open(): Promise<Server> {
    if (this.#ports) return this.#openAt(this.#ports)
    const { name } = this
    for (let left = PORT_TRIES; ; left--) {
      const ports = (await randomPorts([name])).get(name)
      if (!ports) throw new LabError('conflict', `no free ports for ${name}`)
      try {
        const server = await this.#openAt(ports)
        this.#ports = ports
        return server
      } catch (error) {
        const isInUse = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
        if (!isInUse || left === 1) throw error
      }
    }
  }

  #openAt(ports: PortPair): Promise<Server> {
    const { name, storage, shared, clock, random, balancer, log = silentLog } = this.#options
    const advertised = balancer && {
      advertised: `127.0.0.1:${balancer.cluster}`,
      advertisedApi: `127.0.0.1:${balancer.api}`,
    }
    const text = JSON.stringify(configOf({ ...this.#options, ...advertised }, ports, shared ? undefined : storage.path))
    const env = { VAULT_LOCAL_CONFIG: text, VAULT_RAFT_NODE_ID: this.name }
    const { config, problems } = loadServerConfig([], env)
    if (!config) throw new LabError('usage', problems.map((problem) => problem.text).join('; '))
    return Server.start({
      config,
      clock,
      random,
      ...this.begin(storage, log.with({ cluster: name, ...(shared && { node: this.name }) })),
    })
  }
}

const collect = async (chunks: AsyncIterable<readonly Entry[]>): Promise<(readonly Entry[])[]> => {
  const all: (readonly Entry[])[] = []
  for await (const chunk of chunks) all.push(chunk)
  return all
}

async function* eachOf(chunks: readonly (readonly Entry[])[]): AsyncGenerator<readonly Entry[]> {
  yield* chunks
}
