import type { Clock } from '../base/clock.js'
import { skewedClock, systemClock } from '../base/clock.js'
import { LIMITS } from '../base/limits.js'
import type { Log } from '../base/log.js'
import { type Network, systemNetwork } from '../base/network.js'
import { createSystemRandom, type Random } from '../base/random.js'
import { Meter } from '../core/metrics.js'
import type { FreshStart } from '../replication/host.js'
import { Holds } from '../replication/holds.js'
import { ClusterListener } from '../replication/rpc/cluster-listener.js'
import { createHttpServer, type HttpServer } from '../http/http-server.js'
import { renderAnswer } from '../logical/envelope.js'
import { LogicalError } from '../logical/errors.js'
import type { IncomingRequest, Rendered } from '../logical/incoming.js'
import type { EngineSource } from '../storage/engine-source.js'
import { openGenerations } from '../storage/generations.js'
import { openMemoryGenerations } from '../storage/memory-generations.js'
import type { ListenerConfig, ServerConfig } from './config.js'
import { openDev } from './dev.js'
import { createLabApi } from './lab-api.js'
import { LabState } from './lab-state.js'
import { type InFlight, InFlightRequests } from './in-flight.js'
import { replicationTimes } from './replication-parts.js'
import { RestartView } from './restart-view.js'
import { Runtime } from './runtime.js'
import { ServerStatus } from './server-status.js'
import type { ShellView } from './shell-view.js'
import { readTls } from './tls-files.js'
import { parseForwardedFor } from './forwarded-for.js'
import { prepareGeneration } from './wipe.js'

export interface ServerOptions {
  readonly config: ServerConfig
  readonly log: Log
  readonly clock?: Clock
  readonly random?: Random
  readonly network?: Network
  /** Where the data lies; by default where the configuration says. */
  readonly openStorage?: () => Promise<EngineSource>
}

/** What `server -dev` prints. */
export interface DevSecrets {
  readonly rootToken: string
  readonly unsealKey: string
}

/**
 * One server process: listeners that stay, around a runtime that role changes replace. Whatever is derived from data lives
 * in the runtime; whatever clients are connected to lives here.
 */
export class Server implements ShellView {
  readonly status: ServerStatus
  /** What a lab holds; it stays held when the runtime is rebuilt. */
  readonly holds = new Holds()
  readonly meter = new Meter()
  readonly labState = new LabState()
  readonly #options: Required<ServerOptions>
  readonly #inFlight: InFlightRequests
  readonly #listeners: HttpServer[] = []
  readonly #addresses: string[] = []
  #clusterPort: ClusterListener | undefined
  #source: EngineSource | undefined
  #runtime: Runtime | undefined
  #restartView: RestartView | undefined
  #changing: Promise<void> = Promise.resolve()
  #isClosing = false
  #devSecrets: DevSecrets | undefined

  private constructor(options: Required<ServerOptions>) {
    this.#options = { ...options, clock: skewedClock(options.clock, () => this.labState.skewMs) }
    this.status = new ServerStatus(options.config)
    this.#inFlight = new InFlightRequests(options.clock)
  }

  /** Opens data and ports. Rejects, with everything closed again, when either is taken or the data is not sound. */
  static async start(options: ServerOptions): Promise<Server> {
    const server = new Server({
      clock: systemClock,
      random: createSystemRandom(),
      network: systemNetwork,
      openStorage: () => openConfiguredStorage(options),
      ...options,
    })
    try {
      await server.#start()
      return server
    } catch (error) {
      await server.close(0)
      throw error
    }
  }

  /** The API addresses really bound, `host:port`. */
  get addresses(): readonly string[] {
    return this.#addresses
  }

  get clusterPort(): ClusterListener {
    if (!this.#clusterPort) throw new Error('the cluster port is not open')
    return this.#clusterPort
  }

  get devSecrets(): DevSecrets | undefined {
    return this.#devSecrets
  }

  get runtime(): Runtime | undefined {
    return this.#runtime
  }

  get storageGeneration(): number {
    return this.#source?.generation ?? 0
  }

  readonly inFlight = (): ReadonlyMap<string, InFlight> => this.#inFlight.all()

  restart(reason: string): void {
    this.#change(reason, async (rootKey) => {
      // The answer that announces the change still goes through the runtime that made it.
      await this.#inFlight.settle(SETTLE_MS)
      await this.#replaceRuntime(rootKey)
    })
  }

  async wipeAndRestart(next: FreshStart): Promise<void> {
    const runtime = this.#requireRuntime()
    const source = this.#requireSource()
    const sealRecords = runtime.seal.keys.recordsToAdopt(next.keyMaterial)
    let decided: () => void = () => undefined
    let failed: (error: unknown) => void = () => undefined
    const decision = new Promise<void>((resolve, reject) => {
      decided = resolve
      failed = reject
    })
    this.#change('storage is wiped', async () => {
      try {
        await this.#closeRuntime()
        await source.replace((fresh) =>
          prepareGeneration(fresh, {
            ...this.#options,
            identity: runtime.identity,
            rootKey: next.keyMaterial.rootKey,
            sealRecords,
            records: next.records,
          }),
        )
      } catch (error) {
        failed(error)
        await this.#replaceRuntime(runtime.seal.rootKey)
        return
      }
      this.status.showBootstrapping(next.joining.kind)
      this.#restartView?.showBootstrapping(next.joining)
      decided()
      await this.#replaceRuntime(next.keyMaterial.rootKey)
    })
    return decision
  }

  /** Reads certificates and audit files anew. */
  async reload(): Promise<void> {
    for (const listener of this.#listeners) listener.reloadTls()
    await this.#runtime?.cluster?.services.audit.reload()
  }

  /** Stops accepting, lets requests in flight finish for `drainMs`, and closes the data. */
  async close(drainMs: number = LIMITS.drainMs): Promise<void> {
    this.#isClosing = true
    await Promise.all(this.#listeners.map((listener) => listener.close(drainMs)))
    await this.#changing
    // A runtime whose storage has failed may not end well; ports and data are given back all the same.
    try {
      await this.#closeRuntime()
    } finally {
      await this.#clusterPort?.close()
      await this.#source?.close()
      this.#source = undefined
    }
  }

  async #start(): Promise<void> {
    const { config, log, network, openStorage } = this.#options
    this.#source = await openStorage()
    this.#clusterPort = await ClusterListener.start({
      network,
      address: config.clusterBindAddress,
      times: replicationTimes(config),
      log,
    })
    this.#runtime = await Runtime.open(this.#runtimeOptions())
    this.status.follow(this.#runtime)
    for (const listener of config.listeners) await this.#listen(listener)
    if (config.dev) this.#devSecrets = await openDev(this.#runtime, config, this.#options.random)
    else await this.#runtime.seal.autoUnseal()
  }

  async #listen(listener: ListenerConfig): Promise<void> {
    const { clock, random, log } = this.#options
    const { tls, forwardedFor } = listener
    const server = createHttpServer({
      handle: (request) => this.#handle(request),
      lab: createLabApi(this, this.#options.config),
      clock,
      random,
      log,
      tls: tls && (() => readTls(tls)),
      limits: {
        bodyBytesMax: listener.maxRequestBytes,
        headerReadMs: listener.headerReadMs,
        bodyReadMs: listener.bodyReadMs,
        requestMs: listener.maxRequestMs,
        idleMs: listener.idleMs,
      },
      forwardedFor: parseForwardedFor(forwardedFor),
    })
    this.#addresses.push(await server.listen(listener.address))
    this.#listeners.push(server)
  }

  async #handle(request: IncomingRequest): Promise<Rendered> {
    const done = this.#inFlight.begin(request)
    const { clock } = this.#options
    const startedMs = clock.monotonic()
    try {
      const server = this.#restartView ?? this.#requireRuntime()
      return renderAnswer(request, await server.handle(request))
    } finally {
      done()
      this.meter.record('vault.core.handle_request', clock.monotonic() - startedMs)
    }
  }

  /** Runs one change of the runtime after the other; the root key survives in memory, as it would in a running server. */
  #change(reason: string, run: (rootKey: Buffer | undefined) => Promise<void>): void {
    if (this.#isClosing) return
    this.#options.log.info('the cluster restarts after a replication change', { reason })
    const runtime = this.#requireRuntime()
    const { rootKey } = runtime.seal
    this.#restartView = new RestartView(runtime, this.status, this.#options.clock)
    this.status.freeze()
    this.#changing = this.#changing.then(() =>
      run(rootKey).catch((error: unknown) =>
        this.#options.log.error('the restart failed; the cluster stays closed', { error }),
      ),
    )
  }

  async #replaceRuntime(rootKey: Buffer | undefined): Promise<void> {
    await this.#closeRuntime()
    if (this.#isClosing) return
    const runtime = await Runtime.open(this.#runtimeOptions())
    try {
      if (rootKey) await runtime.seal.openWith(rootKey)
    } catch (error) {
      this.#options.log.error('the cluster could not be opened after a replication change and is sealed', { error })
    }
    this.#runtime = runtime
    this.status.follow(runtime)
    this.#restartView = undefined
  }

  async #closeRuntime(): Promise<void> {
    const runtime = this.#runtime
    this.#runtime = undefined
    await runtime?.close()
  }

  #runtimeOptions() {
    return { ...this.#options, source: this.#requireSource(), shell: this }
  }

  #requireSource(): EngineSource {
    if (!this.#source) throw new Error('the data of the server is closed')
    return this.#source
  }

  #requireRuntime(): Runtime {
    if (!this.#runtime) throw new LogicalError('unavailable', 'the server is stopping')
    return this.#runtime
  }
}

const openConfiguredStorage = async ({ config, log }: ServerOptions): Promise<EngineSource> =>
  config.storage.path === undefined ? openMemoryGenerations() : openGenerations(config.storage.path, log)

/** How long requests in flight may hold up a restart. */
const SETTLE_MS = 2000
