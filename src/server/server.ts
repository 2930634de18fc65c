import { type Passwords, PasswordWorker } from '../auth/userpass/password-worker.js'
import { skewedClock, systemClock } from '../base/clock.js'
import { LIMITS } from '../base/limits.js'
import { sharedAbortController } from '../base/linked-signal.js'
import { systemNetwork } from '../base/network.js'
import { createSystemRandom, type Random } from '../base/random.js'
import { Meter } from '../core/status/metrics.js'
import { Holds } from '../replication/host/holds.js'
import type { Kind } from '../replication/model/types.js'
import { createGrpcTransport } from '../replication/rpc/grpc/grpc-transport.js'
import type { ClusterPort, ClusterTransport } from '../replication/rpc/transport.js'
import type { IncomingRequest, Rendered } from '../logical/incoming.js'
import type { JsonObject } from '../logical/json.js'
import type { PathRuleTable } from '../logical/path-rules.js'
import type { EncryptionCount } from '../storage/barrier/barrier.js'
import type { EngineSource } from '../storage/engine/engine-source.js'
import { ClusterImages } from './own-api/cluster-images.js'
import { ApiListeners } from './api-listeners.js'
import { type DevSecrets, openDev } from './dev/dev.js'
import { LabState, withDiskFaults } from './faults/disk-faults.js'
import { createLabApi } from './own-api/lab-api.js'
import { OwnFeed } from './own-api/own-feed.js'
import { requireLicensedRoles, type ShellView, type SimulationOverrides } from './parts/parts.js'
import type { Facilities } from '../base/facilities.js'
import type { Log } from '../base/log.js'
import type { ServerConfig } from './config/config.js'
import { type InFlight, InFlightRequests } from './runtime/admission.js'
import { replicationTimes } from './wiring/replication-parts.js'
import type { Runtime } from './runtime/runtime.js'
import { RuntimeHost } from './runtime/runtime-host.js'
import { ServerStatus } from './runtime/server-status.js'
import { openConfiguredStorage } from './data/server-storage.js'
import { checkAfterCrash } from './data/open-store.js'
import type { SharedLog } from '../storage/shared-log/shared-log.js'
import { createNodeParts, type NodeParts } from './nodes/node-parts.js'
import type { Peers } from './peers/peers.js'
import { Requests } from './requests.js'
import { systemRules, systemRulesOf } from '../core/system/system-rules.js'

interface ServerOptions extends Partial<Facilities> {
  readonly config: ServerConfig
  readonly log: Log
  /** For the IDs of requests. Default: `random`. */
  readonly requestRandom?: Random | undefined
  /** The shared log of a multi-node cluster; absent for a single-node cluster. */
  readonly sharedLog?: SharedLog | undefined
  /** Opens the data. By default, opens the configured storage. */
  readonly openStorage?: () => Promise<EngineSource>
  readonly overrides?: SimulationOverrides | undefined
  /** The node management of storage `raft`; undefined for other storage. */
  readonly peers?: Peers | undefined
}

type CompleteOptions = ServerOptions & Facilities & Required<Pick<ServerOptions, 'openStorage'>>

/**
 * One server process. The listeners stay open, and each role change replaces the runtime. State that is read from the
 * data belongs to the runtime. Client connections and their state belong to this class.
 */
export class Server implements ShellView {
  readonly status: ServerStatus
  /** The states in which a lab holds replication. They remain when the runtime is replaced. */
  readonly holds = new Holds()
  readonly meter = new Meter()
  readonly encryptions: EncryptionCount = { total: 0 }
  readonly labState = new LabState()
  readonly passwords: Passwords
  readonly systemRules: PathRuleTable
  readonly peers: Peers | undefined
  readonly overrides: SimulationOverrides | undefined
  readonly #options: CompleteOptions
  readonly #inFlight: InFlightRequests
  readonly #listeners: ApiListeners
  readonly transport: ClusterTransport
  readonly host: RuntimeHost
  #nodes: NodeParts | undefined
  readonly #requests: Requests
  readonly images: ClusterImages
  readonly feed: OwnFeed
  readonly stopping = sharedAbortController()
  #clusterPort: ClusterPort | undefined
  devSecrets: DevSecrets | undefined

  private constructor(options: CompleteOptions) {
    this.#options = { ...options, clock: skewedClock(options.clock, () => this.labState.skewMs) }
    this.peers = options.peers
    this.overrides = options.overrides
    this.passwords = options.overrides?.passwords ?? new PasswordWorker()
    this.status = new ServerStatus(options.config)
    this.systemRules = systemRules(options.config)
    this.#inFlight = new InFlightRequests(options.clock)
    const { config, network, clock, random, log } = this.#options
    this.transport =
      this.overrides?.transport ?? createGrpcTransport({ network, clock, times: replicationTimes(config), log })
    this.host = new RuntimeHost({
      ...this.#options,
      status: this.status,
      shell: this,
      inFlight: this.#inFlight,
      watch: (source) => (config.own.labApi ? withDiskFaults(source, this.labState.disk, clock) : source),
    })
    this.#requests = new Requests({
      ...this.#options,
      host: this.host,
      systemRules: this.systemRules,
      inFlight: this.#inFlight,
      meter: this.meter,
    })
    this.peers?.serve({
      host: this.host,
      transport: this.transport,
      beRemoved: () => this.status.remove(),
      becomeNode: (sharedLog) => this.#becomeNode(sharedLog),
    })
    this.images = new ClusterImages({
      host: this.host,
      clock: options.clock,
      labState: this.labState,
      holds: this.holds,
      directory: options.config.storage.path ?? (options.config.own.dataDir || undefined),
    })
    this.feed = new OwnFeed(this, { clock, end: this.stopping.signal })
    this.#listeners = new ApiListeners({
      handle: this.handle,
      rulesOf: (path) => systemRulesOf(this.systemRules, path),
      allowBody: (sender, gone) => this.#requests.allowBody(sender, gone),
      lab: createLabApi(this, config),
      web: () => this.runtime?.web,
      config,
      clock,
      random: options.requestRandom ?? random,
      log,
    })
  }

  /** Starts a server. If the data or a port is in use, or the data is damaged, closes everything and rejects. */
  static async start(options: ServerOptions): Promise<Server> {
    const server = new Server({
      clock: systemClock,
      random: createSystemRandom(),
      network: systemNetwork,
      openStorage: () => openConfiguredStorage(options.config, options.log),
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

  /** The API addresses on which the server listens, as `host:port`. */
  get addresses(): readonly string[] {
    return this.#listeners.addresses
  }

  get clusterPort(): ClusterPort {
    if (!this.#clusterPort) throw new Error('the cluster port is not open')
    return this.#clusterPort
  }

  /** This node of a multi-node cluster; undefined for a single-node cluster. */
  get node(): NodeParts['node'] | undefined {
    return this.#nodes?.node
  }

  get runtime(): Runtime | undefined {
    return this.host.runtime
  }

  /** Handles a request from the HTTP server. The HTTP server converts each thrown error to an error response. */
  readonly handle = (request: IncomingRequest): Promise<Rendered> => this.#requests.handle(request)

  readonly inFlight = (): ReadonlyMap<string, InFlight> => this.#inFlight.all()

  /** Returns the replication status for labs, without a request; undefined while the cluster is not open. */
  replicationStatus(kind: Kind): JsonObject | undefined {
    return this.host.runtime?.cluster?.replication.statusData(kind)
  }

  /** Reloads all certificates and reopens all audit files. Then rejects with the first error if any. */
  async reload(): Promise<void> {
    const readings = [...this.#listeners.reloadTls(), this.host.runtime?.cluster?.services.audit.reload()]
    for (const result of await Promise.allSettled(readings)) if (result.status === 'rejected') throw result.reason
  }

  /** Waits up to `drainMs` ms for requests in flight. Closes the data even if the runtime does not close cleanly. */
  async close(drainMs: number = LIMITS.drainMs): Promise<void> {
    this.host.refuseChanges()
    this.stopping.abort()
    this.peers?.stop()
    await this.#listeners.close(drainMs)
    try {
      await this.host.end()
    } finally {
      await (this.#nodes ?? this.#options.sharedLog)?.close()
      await this.peers?.close()
      await this.#clusterPort?.close()
      await this.passwords.close()
      await this.host.closeData()
    }
  }

  async #start(): Promise<void> {
    const { config, log, openStorage, sharedLog } = this.#options
    const source = await openStorage()
    this.host.adopt(source)
    this.#clusterPort = await this.transport.listen(config.clusterBindAddress)
    if (sharedLog) this.#becomeNode(sharedLog)
    const runtime = await this.#openSound(source)
    void this.#nodes?.node.announce()
    requireLicensedRoles(config.own.license, runtime.store)
    for (const listener of config.listeners) await this.#listeners.open(listener)
    if (config.dev) this.devSecrets = await openDev(runtime, config, log)
    else await this.host.autoUnseal()
    this.peers?.begin()
  }

  /** Opens the runtime and checks the data. Damaged data is not closed cleanly, which would mark it as undamaged. */
  async #openSound(source: EngineSource): Promise<Runtime> {
    try {
      const runtime = await this.host.open()
      await checkAfterCrash(source, runtime.store, this.#options.log)
      return runtime
    } catch (error) {
      source.die()
      throw error
    }
  }

  #becomeNode(sharedLog: SharedLog): void {
    const nodes = createNodeParts(sharedLog, {
      ...this.#options,
      status: this.status,
      systemRules: this.systemRules,
      transport: this.transport,
      host: this.host,
      port: this.clusterPort,
      requests: this.#requests,
      reservationForCall: this.#listeners.reservationForCall,
      overrides: this.overrides,
    })
    this.#nodes = nodes
    this.status.join(nodes.node)
    this.host.membership = nodes.node
    this.#requests.join(nodes)
  }
}
