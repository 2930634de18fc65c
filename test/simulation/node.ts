import type { Clock } from '../../src/base/clock.js'
import { uuid } from '../../src/base/id.js'
import type { Log } from '../../src/base/log.js'
import { createSeededRandom, type Random } from '../../src/base/random.js'
import { renderError } from '../../src/http/status-codes.js'
import type { PortPair } from '../../src/lab/ports.js'
import { configOf, type ServerPlan } from '../../src/lab/runner/server-plan.js'
import { LogicalError } from '../../src/logical/errors.js'
import type { IncomingRequest, Rendered } from '../../src/logical/incoming.js'
import { type Operation, ROOT_NAMESPACE } from '../../src/logical/request.js'
import type { WrappedCall } from '../../src/replication/host.js'
import type { Identities } from '../../src/replication/rpc/simulated/identity.js'
import { createSimulatedTransport } from '../../src/replication/rpc/simulated/simulated-transport.js'
import { loadServerConfig } from '../../src/server/config/server-config.js'
import type { ServerConfig } from '../../src/server/config/config.js'
import { Server } from '../../src/server/server.js'
import { replicationTimes } from '../../src/server/wiring/replication-parts.js'
import type { MemoryLink } from '../../src/storage/commit-log/memory-link.js'
import type { MemoryLog } from '../../src/storage/commit-log/memory-log.js'
import { MemorySharedLog } from '../../src/storage/commit-log/memory-shared-log.js'
import type { Answer, Call } from './calls.js'
import { Disk } from './disk.js'
import type { History } from './history.js'
import type { Chance } from './chance.js'
import { LogLink } from './log-link.js'
import type { Host, Network } from './network.js'
import type { Plan } from './plan.js'
import { MortalClock } from './simulated-clock.js'
import { simulatedCertificateKeys, simulatedJwtKeys } from './simulated-keys.js'

export interface Surroundings {
  readonly seed: string
  readonly clock: Clock
  readonly chance: Chance
  readonly history: History
  readonly network: Network
  readonly identities: Identities
  readonly plan: Plan
  /** Asks for an address of another server's API. */
  readonly findByApi: (address: string) => SimulatedNode | undefined
}

interface NodeOptions {
  readonly name: string
  readonly cluster: string
  readonly ports: PortPair
  /** What it shares with the other nodes of its cluster; undefined where it is the only one. */
  readonly log: MemoryLog | undefined
}

/** One life of a server. */
interface Life extends Host {
  isAlive: boolean
  readonly clock: MortalClock
  readonly random: Random
  readonly died: Promise<undefined>
  readonly die: () => void
  server: Server | undefined
  shared: MemorySharedLog | undefined
}

const OPERATIONS = { GET: 'read', PUT: 'update', DELETE: 'delete', LIST: 'list' } as const satisfies Record<
  Call['method'],
  Operation
>

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

  constructor({ name, cluster, ports, log }: NodeOptions, surroundings: Surroundings) {
    this.name = name
    this.#log = log
    this.#surroundings = surroundings
    this.apiAddress = `http://127.0.0.1:${ports.api}`
    this.clusterAddress = `127.0.0.1:${ports.cluster}`
    const { settings, diskDelayMsMax } = surroundings.plan
    this.#config = readConfig({ name: cluster, node: log && name, settings }, ports)
    this.#disk = new Disk({ ...surroundings, delayMsMax: diskDelayMsMax })
  }

  /** Undefined while it does not run. */
  get server(): Server | undefined {
    return this.#life?.server
  }

  /** What goes on between it and the shared log; undefined where there is none. */
  get logLink(): MemoryLink | undefined {
    return this.#life?.shared?.link
  }

  /** Nothing of it goes on for so long, as of a process whose machine stands still; its clock does. */
  freeze(ms: number): void {
    this.#surroundings.history.add(this.name, `stands still for ${ms.toFixed(3)} ms`)
    this.#life?.clock.freeze(ms)
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
    const started = await Promise.race([this.#open(life), life.died])
    if (!started) return false
    life.server = started
    return true
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
    this.#disk.losePower()
  }

  /** Sends a request as a client would; undefined when no answer comes. `from` is where its way begins. */
  async call(call: Call, from?: string): Promise<Answer | undefined> {
    const { clock, network, history } = this.#surroundings
    await clock.sleep(network.delayMs())
    const life = this.#life
    if (!life?.server || this.#isCut(from)) return undefined
    await Promise.race([life.clock.thawed(), life.died])
    const rendered = await Promise.race([this.#answer(life, life.server, call), life.died])
    await Promise.race([clock.sleep(network.delayMs()), life.died])
    if (!rendered || !life.isAlive || this.#isCut(from)) return undefined
    const body = String(rendered.body)
    history.add(this.name, `answers ${rendered.status} to ${call.method} ${call.path}`, Buffer.from(body))
    return { status: rendered.status, json: body === '' ? {} : (JSON.parse(body) as Answer['json']) }
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
    const { clock, seed } = this.#surroundings
    let die: () => void = () => undefined
    const died = new Promise<undefined>((resolve) => {
      die = () => resolve(undefined)
    })
    const random = createSeededRandom(`${seed} ${this.name} ${++this.#lives}`)
    const mortal = new MortalClock(clock, this.#log ? this.#surroundings.plan.nodes.driftOf(this.name) : 1)
    return {
      name: this.name,
      isAlive: true,
      get frozenMs() {
        return mortal.frozenMs
      },
      clock: mortal,
      random,
      died,
      die,
      server: undefined,
      shared: undefined,
    }
  }

  #open(life: Life): Promise<Server> {
    const { network, identities } = this.#surroundings
    const { clock, random } = life
    const log = this.#teller(life)
    life.shared = this.#connect(life)
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
        fetchWrapped: (call) => this.#fetchWrapped(call),
        certificateKeys: simulatedCertificateKeys(random),
        jwtKeys: simulatedJwtKeys(random),
      },
    })
  }

  #connect({ clock }: Life): MemorySharedLog | undefined {
    const { chance, plan } = this.#surroundings
    const link = new LogLink({ clock, chance, delayMsMax: plan.nodes.logDelayMsMax })
    return this.#log && new MemorySharedLog(this.#log, clock, link)
  }

  async #fetchWrapped({ address, step, token }: WrappedCall): Promise<{ status: number; body: string }> {
    const other = this.#surroundings.findByApi(address)
    const answer = await other?.call({ method: 'PUT', path: `sys/wrapping/${step}`, token }, this.name)
    if (!answer) return { status: 503, body: '{"errors":["nobody answers"]}' }
    return { status: answer.status, body: JSON.stringify(answer.json) }
  }

  async #answer(life: Life, server: Server, { method, path, body = {}, token }: Call): Promise<Rendered> {
    const data = Object.assign(Object.create(null), body) as IncomingRequest['data']
    this.#surroundings.history.add(this.name, `is asked for ${method} ${path}`, Buffer.from(JSON.stringify(body)))
    const request: IncomingRequest = {
      id: uuid(life.random),
      operation: OPERATIONS[method],
      path,
      namespace: ROOT_NAMESPACE,
      namespaceHeader: undefined,
      data,
      headers: {},
      remoteAddress: '127.0.0.1',
      remotePort: 40_000,
      clientToken: token,
      wrap: undefined,
      isHead: false,
      bodyBytes: 0,
    }
    try {
      return await server.handle(request)
    } catch (error) {
      if (!(error instanceof LogicalError))
        this.#surroundings.history.tell(this.name, `fails inside: ${stackOf(error)}`)
      return renderError(error)
    }
  }

  #teller(life: Life): Log {
    const tell = (level: string) => (message: string, fields?: Record<string, unknown>) => {
      if (life.isAlive) this.#surroundings.history.tell(this.name, `${level}: ${message}${shown(fields)}`)
    }
    const log: Log = {
      trace: () => undefined,
      debug: () => undefined,
      info: tell('info'),
      warn: tell('warn'),
      error: tell('error'),
      with: () => log,
    }
    return log
  }
}

const stackOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error))

const shown = (fields: Record<string, unknown> = {}): string =>
  Object.entries(fields)
    .map(([name, value]) => ` ${name}=${value instanceof Error ? value.message : JSON.stringify(value)}`)
    .join('')

const readConfig = (plan: ServerPlan, ports: PortPair): ServerConfig => {
  // What a client reads may be on any node, and the judges of a cluster know of none that is behind.
  const text = JSON.stringify({ ...configOf(plan, ports), disable_performance_standby: true })
  const env = { VAULT_LOCAL_CONFIG: text, VAULT_RAFT_NODE_ID: plan.node ?? plan.name }
  const { config, problems } = loadServerConfig([], env)
  if (!config) throw new Error(problems.map((problem) => problem.text).join('; '))
  // Requests come in where the HTTP front would hand them over.
  return { ...config, listeners: [] }
}
