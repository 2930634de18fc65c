import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { systemClock } from '../../src/base/clock.js'
import { ApiClient } from '../../src/client/api-client.js'
import { initialize, unseal, waitForAnswer } from '../../src/lab/requests/replication.js'
import { randomPorts } from '../../src/lab/model/ports.js'

const WAIT_MS = 60_000
const STOP_MS = 10_000

export interface ServerOptions {
  readonly program: string
  readonly name: string
  /** Settings of the stanza `understudy`. */
  readonly settings?: Readonly<Record<string, string | number | boolean>>
  /** The advertised cluster address. */
  readonly advertised?: (clusterPort: number) => Promise<string>
  /** Options of node, such as those of a profiler. */
  readonly nodeArgs?: readonly string[]
}

/** One server in its own process, with a temporary data directory. */
export class BenchServer {
  readonly name: string
  readonly apiPort: number
  readonly clusterPort: number
  readonly directory: string
  rootToken = ''
  unsealKeys: readonly string[] = []
  readonly #options: ServerOptions
  #process: ChildProcess | undefined

  private constructor(options: ServerOptions, ports: { api: number; cluster: number }, directory: string) {
    this.#options = options
    this.name = options.name
    this.apiPort = ports.api
    this.clusterPort = ports.cluster
    this.directory = directory
  }

  /** Prepares a server without starting it. */
  static async prepare(options: ServerOptions): Promise<BenchServer> {
    const ports = (await randomPorts([options.name])).get(options.name)
    if (!ports) throw new Error('no ports are free')
    const server = new BenchServer(options, ports, mkdtempSync(path.join(tmpdir(), 'understudy-bench-')))
    await server.#configure()
    return server
  }

  get pid(): number {
    const pid = this.#process?.pid
    if (pid === undefined) throw new Error(`server ${this.name} does not run`)
    return pid
  }

  get dataDirectory(): string {
    return path.join(this.directory, 'data')
  }

  get configFile(): string {
    return path.join(this.directory, 'server.json')
  }

  get log(): string {
    return readFileSync(path.join(this.directory, 'server.log'), 'utf8')
  }

  client(): ApiClient {
    const token = this.rootToken === '' ? undefined : this.rootToken
    return new ApiClient({ address: `http://127.0.0.1:${this.apiPort}`, token, timeoutMs: WAIT_MS })
  }

  /** Starts the process and waits until it responds. */
  async start(): Promise<void> {
    const log = openSync(path.join(this.directory, 'server.log'), 'a')
    const { program, nodeArgs = [] } = this.#options
    const args = [...nodeArgs, program, 'server', `-config=${this.configFile}`]
    const started = spawn(process.execPath, args, { stdio: ['ignore', log, log], cwd: this.directory })
    this.#process = started
    // Kills the server if the bench exits early.
    const end = () => void started.kill('SIGKILL')
    process.once('exit', end)
    started.once('exit', () => process.off('exit', end))
    await waitForAnswer(systemClock, this.client(), this.name, WAIT_MS)
  }

  /** Starts a new server, initializes it and unseals it. */
  async open(): Promise<void> {
    await this.start()
    await this.initialize()
  }

  /** Initializes the server with one key share, and unseals it. */
  async initialize(): Promise<void> {
    const { rootToken, unsealKeys } = await initialize(this.client(), 1, 1)
    this.rootToken = rootToken
    this.unsealKeys = unsealKeys
  }

  async unseal(): Promise<void> {
    await unseal(this.client(), this.unsealKeys)
  }

  signal(name: NodeJS.Signals): void {
    process.kill(this.pid, name)
  }

  /** Stops the process, at once with SIGKILL, and keeps its data. */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    const running = this.#process
    this.#process = undefined
    if (!running || running.exitCode !== null || running.signalCode !== null) return
    const exited = new Promise<void>((resolve) => running.once('exit', () => resolve()))
    running.kill(signal)
    const late = systemClock.setTimer(STOP_MS, () => running.kill('SIGKILL'))
    await exited
    late.cancel()
  }

  async remove(): Promise<void> {
    await this.stop()
    rmSync(this.directory, { recursive: true, force: true })
  }

  async #configure(): Promise<void> {
    const { apiPort, clusterPort, name } = this
    const advertised = (await this.#options.advertised?.(clusterPort)) ?? `127.0.0.1:${clusterPort}`
    mkdirSync(this.dataDirectory)
    const config = {
      listener: {
        tcp: { address: `127.0.0.1:${apiPort}`, cluster_address: `127.0.0.1:${clusterPort}`, tls_disable: true },
      },
      storage: { raft: { path: this.dataDirectory, node_id: name } },
      api_addr: `http://127.0.0.1:${apiPort}`,
      cluster_addr: `https://${advertised}`,
      cluster_name: name,
      understudy: { user_lockout: false, lab_api: true, ...this.#options.settings },
    }
    writeFileSync(this.configFile, JSON.stringify(config))
  }
}
