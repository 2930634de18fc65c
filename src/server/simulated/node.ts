import type { Facilities } from '../../base/facilities.js'
import { inspect } from 'node:util'
import { uuid } from '../../base/id.js'
import { createSeededRandom } from '../../base/random.js'
import { renderError } from '../../http/message/status-codes.js'
import { answerWhole, type SentMessage } from '../../http/response/answer-whole.js'
import { LogicalError } from '../../logical/errors.js'
import type { Rendered } from '../../logical/incoming.js'
import type { Identities } from '../../replication/rpc/simulated/identity.js'
import { createSimulatedTransport } from '../../replication/rpc/simulated/simulated-transport.js'
import type { ServerConfig } from '../config/config.js'
import { createLabApi } from '../own-api/lab-api.js'
import { Server } from '../server.js'
import { systemRulesOf } from '../../core/system/system-rules.js'
import { replicationTimes } from '../wiring/replication-parts.js'
import type { MemoryLink } from '../../storage/shared-log/memory-link.js'
import type { MemoryLog } from '../../storage/shared-log/memory-log.js'
import { MemorySharedLog } from '../../storage/shared-log/memory-shared-log.js'
import { type Answer, bytesOf, type Call, fetchWrapped, headersOf, incomingOf, type WholeAnswer } from './calls.js'
import { Disk } from './disk.js'
import { type History, tracedLog } from './history.js'
import type { Chance } from './chance.js'
import { beginLife, type Life, LogLink, simulatedSecrets } from './life.js'
import type { Network } from './network.js'
import { MortalClock } from './simulated-clock.js'

export interface Surroundings extends Pick<Facilities, 'clock'> {
  readonly seed: string
  readonly chance: Chance
  readonly history: History
  readonly network: Network
  readonly identities: Identities
  /** Maximum latency of a disk step, and of a message between a node and its shared log, in ms. */
  readonly diskDelayMsMax: number
  readonly logDelayMsMax: number
  /** Returns the rate of a node's clock, relative to the simulation. Used in multi-node clusters only. */
  readonly driftOf: (node: string) => number
  /** Finds a node by its API address. */
  readonly findByApi: (address: string) => SimulatedNode | undefined
}

interface NodeOptions {
  readonly name: string
  /** The configuration. Requests bypass the HTTP server, so no listener is opened. */
  readonly config: ServerConfig
  /** The log that the node shares with the other nodes of its cluster; undefined for a single-node cluster. */
  readonly log: MemoryLog | undefined
}

/**
 * One server with a simulated clock, network and disk and with random numbers from the seed. Everything else is
 * production code.
 */
export class SimulatedNode {
  readonly name: string
  readonly apiAddress: string
  readonly clusterAddress: string
  readonly #surroundings: Surroundings
  readonly #config: ServerConfig
  readonly #disk: Disk
  readonly #log: MemoryLog | undefined
  #lives = 0
  #life: Life | undefined

  constructor({ name, config, log }: NodeOptions, surroundings: Surroundings) {
    this.name = name
    this.#log = log
    this.#surroundings = surroundings
    this.apiAddress = config.apiAddress
    this.clusterAddress = config.clusterBindAddress
    this.#config = { ...config, listeners: [] }
    this.#disk = new Disk({ ...surroundings, delayMsMax: surroundings.diskDelayMsMax })
  }

  /** The running server; undefined while it is stopped. */
  get server(): Server | undefined {
    return this.#life?.server
  }

  /** The link of the running server to the shared log; undefined if there is none. */
  get logLink(): MemoryLink | undefined {
    return this.#life?.shared?.link
  }

  /** The clock of the running process; undefined while it is stopped. */
  get clock(): Pick<MortalClock, 'frozenMs' | 'timers'> | undefined {
    return this.#life?.clock
  }

  /** Suspends the process for `ms` milliseconds. Its clock continues, as on a paused machine. */
  freeze(ms: number): void {
    this.#surroundings.history.add(this.name, `is suspended for ${ms.toFixed(3)} ms`)
    this.#life?.clock.freeze(ms)
  }

  get disk(): Pick<Disk, 'failuresLeft' | 'failures' | 'flipBit' | 'copy'> {
    return this.#disk
  }

  /** Replaces the machine. The next start has an empty disk. */
  loseDisk(): void {
    this.crash(true)
    this.#disk.lose()
  }

  /** Starts the server. Resolves to false if the process died during startup. */
  async start(): Promise<boolean> {
    if (this.#life) return true
    const life = this.#beginLife()
    this.#life = life
    this.#surroundings.history.add(this.name, 'starts')
    try {
      const started = await life.untilDeath(this.#open(life))
      if (!started) return false
      life.server = started
      return true
    } catch (error) {
      // A process that fails to start exits.
      if (this.#life === life) this.crash(false)
      throw error
    }
  }

  /** Stops the server cleanly, as by SIGTERM. */
  async stop(): Promise<void> {
    const life = this.#life
    if (!life?.server) return
    this.#surroundings.history.add(this.name, 'stops')
    // If shutdown fails, the process ends anyway.
    const isClosed = await life.untilDeath(life.server.close().then(() => true)).catch(() => false)
    if (this.#life !== life) return
    if (!isClosed) return this.crash(false)
    this.#end(life, true)
  }

  /** Kills the process, as by SIGKILL. With `isPowerLost`, simulates a power failure: peers are not notified. */
  crash(isPowerLost: boolean): void {
    const life = this.#life
    if (!life) return
    this.#surroundings.history.add(this.name, isPowerLost ? 'loses power' : 'is killed')
    this.#end(life, !isPowerLost)
    if (isPowerLost) this.#disk.losePower()
    else this.#disk.release()
  }

  /** Sends a request as a client on the host `from`. Returns undefined if no response arrives. */
  async call(call: Call, from?: string): Promise<Answer | undefined> {
    const rendered = await this.#visit(from, (life, server) => this.#answer(life, server, call))
    if (!rendered) return undefined
    const body = String(rendered.body)
    const { history } = this.#surroundings
    history.add(this.name, `answers ${rendered.status} to ${call.method} ${call.path}`, Buffer.from(body))
    return { status: rendered.status, json: body === '' ? {} : (JSON.parse(body) as Answer['json']) }
  }

  /** Sends a message as an HTTP client. Returns undefined if no response arrives. */
  async exchange(message: SentMessage): Promise<WholeAnswer | undefined> {
    const { history } = this.#surroundings
    const rendered = await this.#visit(undefined, (life, server) => {
      history.add(this.name, `receives ${message.verb} ${message.url}`, message.body)
      return answerWhole(message, {
        handle: (request) => server.handle(request),
        lab: createLabApi(server, this.#config),
        rulesOf: (path) => systemRulesOf(server.systemRules, path),
        random: life.random,
        id: () => uuid(life.random),
        onBug: (error) => history.tell(this.name, () => `internal error: ${inspect(error)}`),
      })
    })
    if (!rendered) return undefined
    const bytes = await bytesOf(rendered.body)
    history.add(this.name, `answers ${rendered.status} to ${message.verb} ${message.url}`, bytes)
    return { status: rendered.status, headers: headersOf(rendered), bytes }
  }

  /**
   * Calls `answer` on the running server, with the latency of the request and of the response. Returns undefined if the
   * server stops or the path from `from` is cut.
   */
  async #visit(
    from: string | undefined,
    answer: (life: Life, server: Server) => Promise<Rendered>,
  ): Promise<Rendered | undefined> {
    const { clock, network } = this.#surroundings
    await clock.sleep(network.delayMs())
    const life = this.#life
    if (!life?.server || this.#isCut(from)) return undefined
    await life.untilDeath(life.clock.thawed())
    if (!life.isAlive) return undefined
    const rendered = await life.untilDeath(answer(life, life.server))
    await life.untilDeath(clock.sleep(network.delayMs()))
    return life.isAlive && !this.#isCut(from) ? rendered : undefined
  }

  #isCut(from: string | undefined): boolean {
    const { network } = this.#surroundings
    return from !== undefined && (network.isCut(from, this.name) || network.isCut(this.name, from))
  }

  #end(life: Life, arePeersNotified: boolean): void {
    this.#life = undefined
    life.isAlive = false
    // Requests of this process to the log are never answered, so its code does not continue.
    life.shared?.link.cut()
    life.clock.die()
    this.#surroundings.network.removeHost(life, arePeersNotified)
    life.die()
  }

  #beginLife(): Life {
    const { clock, seed, driftOf } = this.#surroundings
    const random = createSeededRandom(`${seed} ${this.name} ${++this.#lives}`)
    return beginLife(this.name, new MortalClock(clock, this.#log ? driftOf(this.name) : 1), random)
  }

  #open(life: Life): Promise<Server> {
    const { network, identities, chance, logDelayMsMax } = this.#surroundings
    const { clock, random } = life
    const log = tracedLog(this.#surroundings.history, life)
    const link = new LogLink({ clock, chance, delayMsMax: logDelayMsMax })
    life.shared = this.#log && new MemorySharedLog(this.#log, clock, link)
    const times = replicationTimes(this.#config)
    return Server.start({
      config: this.#config,
      log,
      clock,
      random,
      sharedLog: life.shared,
      openStorage: async () => this.#disk.open(life, clock),
      overrides: {
        transport: createSimulatedTransport({ network: network.viewOf(life), clock, times, log, identities }),
        fetchWrapped: (call) => fetchWrapped(this.#surroundings.findByApi(call.address), call, this.name),
        ...simulatedSecrets(random),
      },
    })
  }

  async #answer(life: Life, server: Server, call: Call): Promise<Rendered> {
    const { method, path, body = {} } = call
    this.#surroundings.history.add(this.name, `receives ${method} ${path}`, Buffer.from(JSON.stringify(body)))
    const request = incomingOf(uuid(life.random), call)
    try {
      return await server.handle(request)
    } catch (error) {
      if (!(error instanceof LogicalError))
        this.#surroundings.history.tell(this.name, () => `internal error: ${inspect(error)}`)
      return renderError(error)
    }
  }
}
