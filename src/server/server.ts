import type { Clock, Timer } from '../base/clock.js'
import { skewedClock, systemClock } from '../base/clock.js'
import { LIMITS } from '../base/limits.js'
import type { Log } from '../base/log.js'
import { type Network, systemNetwork } from '../base/network.js'
import { createSystemRandom, type Random } from '../base/random.js'
import { RESTARTING_REFUSAL } from '../core/gate.js'
import { Meter } from '../core/metrics.js'
import type { FreshStart } from '../replication/host.js'
import { Holds } from '../replication/holds.js'
import { ClusterListener } from '../replication/rpc/cluster-listener.js'
import { createHttpServer, type HttpServer } from '../http/http-server.js'
import { renderAnswer } from '../logical/envelope.js'
import { LogicalError } from '../logical/errors.js'
import type { IncomingRequest, Rendered } from '../logical/incoming.js'
import type { Engine } from '../storage/engine.js'
import type { EngineSource } from '../storage/engine-source.js'
import { openGenerations } from '../storage/generations.js'
import { openMemoryGenerations } from '../storage/memory-generations.js'
import type { ListenerConfig, ServerConfig } from './config.js'
import { openDev } from './dev.js'
import { createLabApi } from './lab-api.js'
import { LabState } from './lab-state.js'
import { type InFlight, InFlightRequests } from './in-flight.js'
import { replicationTimes } from './replication-parts.js'
import { isPurgePending } from '../replication/purge.js'
import { copyRemaining } from './purge.js'
import { prepareRestored } from './restore.js'
import { RestartView } from './restart-view.js'
import { Runtime } from './runtime.js'
import { ServerStatus } from './server-status.js'
import type { ShellView } from './shell-view.js'
import type { Restoration } from './snapshots.js'
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
  #isPurging = false
  #purgeFailures = 0
  #purgeTimer: Timer | undefined
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

  /** True while data that a filter took away may still be readable in the files. */
  get isPurgePending(): boolean {
    return this.#isPurging || (this.#runtime !== undefined && isPurgePending(this.#runtime.store))
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
    const { seal, identity } = this.#requireRuntime()
    const { rootKey } = next.keyMaterial
    const { records } = next
    const sealRecords = seal.keys.recordsToAdopt(next.keyMaterial)
    await this.#replaceData('storage is wiped', {
      rootKey,
      prepare: (fresh) => prepareGeneration(fresh, { ...this.#options, identity, rootKey, sealRecords, records }),
      onDecided: () => {
        this.status.showBootstrapping(next.joining.kind)
        this.#restartView?.showBootstrapping(next.joining)
      },
    })
  }

  async restoreAndRestart(restoration: Restoration): Promise<void> {
    if (this.status.isRestarting) throw new LogicalError('unavailable', RESTARTING_REFUSAL)
    await this.#replaceData('a snapshot is restored', {
      rootKey: restoration.rootKey,
      prepare: (fresh) => prepareRestored(fresh, { ...this.#options, ...restoration }),
      onDecided: () => undefined,
    })
  }

  destroyDeleted(): void {
    const pauseMs = this.#purgeFailures === 0 ? 0 : Math.min(1000 * 2 ** this.#purgeFailures, PURGE_PAUSE_MS_MAX)
    this.#purgeTimer = this.#options.clock.setTimer(pauseMs, () => {
      this.#destroyDeleted().catch((error: unknown) => {
        this.#purgeFailures++
        this.#options.log.error('held-back data was not destroyed yet', { error })
      })
    })
  }

  /** Reads certificates and audit files anew. One that fails keeps no other from being read; it is thrown at the end. */
  async reload(): Promise<void> {
    const readings = [
      ...this.#listeners.map(async (listener) => listener.reloadTls()),
      this.#runtime?.cluster?.services.audit.reload(),
    ]
    const failed = (await Promise.allSettled(readings)).find(({ status }) => status === 'rejected')
    if (failed?.status === 'rejected') throw failed.reason
  }

  /** Stops accepting, lets requests in flight finish for `drainMs`, and closes the data. */
  async close(drainMs: number = LIMITS.drainMs): Promise<void> {
    this.#isClosing = true
    this.#purgeTimer?.cancel()
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

  /** A new generation of the data and a new runtime on it. Resolves when the decision is durable; else all is as before. */
  async #replaceData(reason: string, next: NewData): Promise<void> {
    const { seal } = this.#requireRuntime()
    const source = this.#requireSource()
    if (this.#isClosing) throw new LogicalError('unavailable', 'the server is stopping')
    return new Promise<void>((resolve, reject) => {
      this.#change(reason, async () => {
        try {
          await next.before?.()
          await this.#closeRuntime()
          await source.replace(next.prepare)
        } catch (error) {
          reject(error)
          await this.#replaceRuntime(seal.rootKey)
          return
        }
        next.onDecided()
        resolve()
        await this.#replaceRuntime(next.rootKey)
        if (!next.rootKey) await this.#runtime?.seal.autoUnseal()
      })
    })
  }

  async #destroyDeleted(): Promise<void> {
    if (this.#isClosing) return
    const { rootKey } = this.#requireRuntime().seal
    const source = this.#requireSource()
    this.#isPurging = true
    try {
      await this.#replaceData('held-back data is destroyed', {
        rootKey,
        before: () => this.#inFlight.settle(SETTLE_MS),
        prepare: (fresh) => copyRemaining(source.engine, fresh),
        onDecided: () => undefined,
      })
      this.#purgeFailures = 0
    } finally {
      this.#isPurging = false
    }
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

/** Data that takes the place of what is there. */
interface NewData {
  /** Opens it; undefined when nobody here has the key. */
  readonly rootKey: Buffer | undefined
  /** While the old data is still served. */
  readonly before?: () => Promise<void>
  readonly prepare: (fresh: Engine) => Promise<void>
  readonly onDecided: () => void
}

/** How long requests in flight may hold up a restart. */
const SETTLE_MS = 2000
/** How long a purge that failed, as on a full disk, waits at most before it is tried again. */
const PURGE_PAUSE_MS_MAX = 60_000
