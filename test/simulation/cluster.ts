import type { Clock } from '../../src/base/clock.js'
import { uuid } from '../../src/base/id.js'
import type { Log } from '../../src/base/log.js'
import { createSeededRandom, type Random } from '../../src/base/random.js'
import { renderError } from '../../src/http/status-codes.js'
import { configOf } from '../../src/lab/runner/server-plan.js'
import type { LabSettings } from '../../src/lab/settings.js'
import { LogicalError } from '../../src/logical/errors.js'
import type { IncomingRequest, Rendered } from '../../src/logical/incoming.js'
import { type Operation, ROOT_NAMESPACE } from '../../src/logical/request.js'
import type { WrappedCall } from '../../src/replication/host.js'
import { createSimulatedTransport } from '../../src/replication/rpc/simulated/simulated-transport.js'
import { loadServerConfig } from '../../src/server/config/server-config.js'
import type { ServerConfig } from '../../src/server/config/config.js'
import { Server } from '../../src/server/server.js'
import { replicationTimes } from '../../src/server/wiring/replication-parts.js'
import { Disk } from './disk.js'
import type { History } from './history.js'
import type { Chance } from './chance.js'
import type { Host, Network } from './network.js'
import { MortalClock } from './simulated-clock.js'
import { simulatedCertificateKeys, simulatedJwtKeys } from './simulated-keys.js'

export interface Surroundings {
  readonly seed: string
  readonly clock: Clock
  readonly chance: Chance
  readonly history: History
  readonly network: Network
  readonly settings: LabSettings
  readonly diskDelayMsMax: number
  /** Asks for an address of another cluster's API. */
  readonly findByApi: (address: string) => SimulatedCluster | undefined
}

export interface Answer {
  readonly status: number
  readonly json: Readonly<Record<string, unknown>>
}

export interface Call {
  readonly method: 'GET' | 'PUT' | 'DELETE' | 'LIST'
  readonly path: string
  readonly body?: Readonly<Record<string, unknown>>
  readonly token?: string
}

/** One life of a server. */
interface Life extends Host {
  isAlive: boolean
  readonly clock: MortalClock
  readonly random: Random
  readonly died: Promise<undefined>
  readonly die: () => void
  server: Server | undefined
}

const OPERATIONS = { GET: 'read', PUT: 'update', DELETE: 'delete', LIST: 'list' } as const satisfies Record<
  Call['method'],
  Operation
>

/** A cluster of one server whose clock, network, disk and chances are simulated; everything above them is the product. */
export class SimulatedCluster {
  readonly name: string
  readonly apiAddress: string
  readonly clusterAddress: string
  readonly #surroundings: Surroundings
  readonly #config: ServerConfig
  readonly #disk: Disk
  #lives = 0
  #life: Life | undefined

  constructor(name: string, index: number, surroundings: Surroundings) {
    this.name = name
    this.#surroundings = surroundings
    const ports = { api: 8200 + index * 10, cluster: 8201 + index * 10 }
    this.apiAddress = `http://127.0.0.1:${ports.api}`
    this.clusterAddress = `127.0.0.1:${ports.cluster}`
    this.#config = readConfig(name, ports, surroundings.settings)
    this.#disk = new Disk({ ...surroundings, delayMsMax: surroundings.diskDelayMsMax })
  }

  /** Undefined while it does not run. */
  get server(): Server | undefined {
    return this.#life?.server
  }

  get isRunning(): boolean {
    return this.#life !== undefined
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
    return { name: this.name, isAlive: true, clock: new MortalClock(clock), random, died, die, server: undefined }
  }

  #open(life: Life): Promise<Server> {
    const { network } = this.#surroundings
    const { clock, random } = life
    const log = this.#log(life)
    const times = replicationTimes(this.#config)
    return Server.start({
      config: this.#config,
      log,
      clock,
      random,
      openStorage: async () => this.#disk.open(life, clock),
      standIns: {
        transport: createSimulatedTransport({ network: network.viewOf(life), clock, times, log }),
        fetchWrapped: (call) => this.#fetchWrapped(call),
        certificateKeys: simulatedCertificateKeys(random),
        jwtKeys: simulatedJwtKeys(random),
      },
    })
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

  #log(life: Life): Log {
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

const readConfig = (name: string, ports: { api: number; cluster: number }, settings: LabSettings): ServerConfig => {
  const text = JSON.stringify(configOf({ name, settings }, ports))
  const { config, problems } = loadServerConfig([], { VAULT_LOCAL_CONFIG: text })
  if (!config) throw new Error(problems.map((problem) => problem.text).join('; '))
  // Requests come in where the HTTP front would hand them over.
  return { ...config, listeners: [] }
}
