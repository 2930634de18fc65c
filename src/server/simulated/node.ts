import { inspect } from 'node:util'
import type { Clock } from '../../base/clock.js'
import { uuid } from '../../base/id.js'
import { createSeededRandom } from '../../base/random.js'
import { renderError } from '../../http/status-codes.js'
import { answerWhole, type SentMessage } from '../../http/answer-whole.js'
import { LogicalError } from '../../logical/errors.js'
import type { Rendered } from '../../logical/incoming.js'
import type { Identities } from '../../replication/rpc/simulated/identity.js'
import { createSimulatedTransport } from '../../replication/rpc/simulated/simulated-transport.js'
import type { ServerConfig } from '../config/config.js'
import { createLabApi } from '../lab/lab-api.js'
import { Server } from '../server.js'
import { systemRulesOf } from '../rules/system-rules.js'
import { replicationTimes } from '../wiring/replication-parts.js'
import type { MemoryLink } from '../../storage/commit-log/memory-link.js'
import type { MemoryLog } from '../../storage/commit-log/memory-log.js'
import { MemorySharedLog } from '../../storage/commit-log/memory-shared-log.js'
import { type Answer, bytesOf, type Call, fetchWrapped, headersOf, incomingOf, type WholeAnswer } from './calls.js'
import { Disk } from './disk.js'
import type { History } from './history.js'
import type { Chance } from './chance.js'
import { beginLife, type Life } from './life.js'
import { LogLink } from './log-link.js'
import type { Network } from './network.js'
import { simulatedSecrets } from './secrets.js'
import { toldLog } from './told-log.js'
import { MortalClock } from './simulated-clock.js'

export interface Surroundings {
  readonly seed: string
  readonly clock: Clock
  readonly chance: Chance
  readonly history: History
  readonly network: Network
  readonly identities: Identities
  /** How long a step of a disk, and a trip between a node and the log that it shares, take at most, in milliseconds. */
  readonly diskDelayMsMax: number
  readonly logDelayMsMax: number
  /** How fast the clock of a node of several runs. */
  readonly driftOf: (node: string) => number
  /** Asks for an address of another server's API. */
  readonly findByApi: (address: string) => SimulatedNode | undefined
}

interface NodeOptions {
  readonly name: string
  /** Nothing listens where it says: requests come in where the HTTP front would hand them over. */
  readonly config: ServerConfig
  /** What it shares with the other nodes of its cluster; undefined where it is the only one. */
  readonly log: MemoryLog | undefined
}

/** One server whose clock, network, disk and chances are simulated; everything above them is the product. */
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

  /** Undefined while it does not run. */
  get server(): Server | undefined {
    return this.#life?.server
  }

  /** What goes on between it and the shared log; undefined where there is none. */
  get logLink(): MemoryLink | undefined {
    return this.#life?.shared?.link
  }

  /** What it waits with; undefined while it does not run. */
  get clock(): Pick<MortalClock, 'frozenMs' | 'timers'> | undefined {
    return this.#life?.clock
  }

  /** Nothing of it goes on for so long, as of a process whose machine stands still; its clock does. */
  freeze(ms: number): void {
    this.#surroundings.history.add(this.name, `stands still for ${ms.toFixed(3)} ms`)
    this.#life?.clock.freeze(ms)
  }

  get disk(): Pick<Disk, 'failuresLeft' | 'failures' | 'turnBit'> {
    return this.#disk
  }

  /** The machine is another one when it starts again, with an empty disk. */
  loseDisk(): void {
    this.crash(true)
    this.#disk.lose()
  }

  /** Resolves to false when the process died before it was up. */
  async start(): Promise<boolean> {
    if (this.#life) return true
    const life = this.#beginLife()
    this.#life = life
    this.#surroundings.history.add(this.name, 'starts')
    try {
      const started = await Promise.race([this.#open(life), life.died])
      if (!started) return false
      life.server = started
      return true
    } catch (error) {
      // A process whose start has failed is gone.
      if (this.#life === life) this.crash(false)
      throw error
    }
  }

  /** Ends in order, as by SIGTERM. */
  async stop(): Promise<void> {
    const life = this.#life
    if (!life?.server) return
    this.#surroundings.history.add(this.name, 'stops')
    // Where it does not end well, its process ends all the same.
    const isClosed = await Promise.race([life.server.close().then(() => true), life.died]).catch(() => false)
    if (this.#life !== life) return
    if (!isClosed) return this.crash(false)
    this.#end(life, true)
  }

  /** Ends as by SIGKILL, or as by a loss of power, of which nobody is told. */
  crash(isPowerLost: boolean): void {
    const life = this.#life
    if (!life) return
    this.#surroundings.history.add(this.name, isPowerLost ? 'loses power' : 'is killed')
    this.#end(life, !isPowerLost)
    if (isPowerLost) this.#disk.losePower()
    else this.#disk.release()
  }

  /** Sends a request as a client would; undefined when no answer comes. `from` is where its way begins. */
  async call(call: Call, from?: string): Promise<Answer | undefined> {
    const rendered = await this.#visit(from, (life, server) => this.#answer(life, server, call))
    if (!rendered) return undefined
    const body = String(rendered.body)
    const { history } = this.#surroundings
    history.add(this.name, `answers ${rendered.status} to ${call.method} ${call.path}`, Buffer.from(body))
    return { status: rendered.status, json: body === '' ? {} : (JSON.parse(body) as Answer['json']) }
  }

  /** Sends a message as an HTTP client would; undefined when no answer comes. */
  async exchange(message: SentMessage): Promise<WholeAnswer | undefined> {
    const { history } = this.#surroundings
    const rendered = await this.#visit(undefined, (life, server) => {
      history.add(this.name, `is asked for ${message.verb} ${message.url}`, message.body)
      return answerWhole(message, {
        handle: (request) => server.handle(request),
        lab: createLabApi(server, this.#config),
        rulesOf: (path) => systemRulesOf(server.systemRules, path),
        random: life.random,
        id: () => uuid(life.random),
        onBug: (error) => history.tell(this.name, () => `fails inside: ${inspect(error)}`),
      })
    })
    if (!rendered) return undefined
    const bytes = await bytesOf(rendered.body)
    history.add(this.name, `answers ${rendered.status} to ${message.verb} ${message.url}`, bytes)
    return { status: rendered.status, headers: headersOf(rendered), bytes }
  }

  /** The way to it and back, and what it answers in between. */
  async #visit(
    from: string | undefined,
    answer: (life: Life, server: Server) => Promise<Rendered>,
  ): Promise<Rendered | undefined> {
    const { clock, network } = this.#surroundings
    await clock.sleep(network.delayMs())
    const life = this.#life
    if (!life?.server || this.#isCut(from)) return undefined
    await Promise.race([life.clock.thawed(), life.died])
    if (!life.isAlive) return undefined
    const rendered = await Promise.race([answer(life, life.server), life.died])
    await Promise.race([clock.sleep(network.delayMs()), life.died])
    return life.isAlive && !this.#isCut(from) ? rendered : undefined
  }

  #isCut(from: string | undefined): boolean {
    const { network } = this.#surroundings
    return from !== undefined && (network.isCut(from, this.name) || network.isCut(this.name, from))
  }

  #end(life: Life, areOthersTold: boolean): void {
    this.#life = undefined
    life.isAlive = false
    // What it has asked is never answered, so nothing of it goes on.
    life.shared?.link.cut()
    life.clock.die()
    this.#surroundings.network.bury(life, areOthersTold)
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
    const log = toldLog(this.#surroundings.history, life)
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
      standIns: {
        transport: createSimulatedTransport({ network: network.viewOf(life), clock, times, log, identities }),
        fetchWrapped: (call) => fetchWrapped(this.#surroundings.findByApi(call.address), call, this.name),
        ...simulatedSecrets(random),
      },
    })
  }

  async #answer(life: Life, server: Server, call: Call): Promise<Rendered> {
    const { method, path, body = {} } = call
    this.#surroundings.history.add(this.name, `is asked for ${method} ${path}`, Buffer.from(JSON.stringify(body)))
    const request = incomingOf(uuid(life.random), call)
    try {
      return await server.handle(request)
    } catch (error) {
      if (!(error instanceof LogicalError))
        this.#surroundings.history.tell(this.name, () => `fails inside: ${inspect(error)}`)
      return renderError(error)
    }
  }
}
