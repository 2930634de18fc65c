import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type PortPair, randomPorts } from '../../src/lab/ports.js'
import { type Ending, lastLogLines, launchServer } from '../../src/lab/runner/child-process.js'
import { TestNode, TestNodes } from './nodes.js'
import { until } from './until.js'

/** A server as a process of its own, whose data lies in an etcd; without one it is a cluster alone. */
export class NodeProcess extends TestNode {
  readonly directory: string
  readonly #etcdAddress: string | undefined
  readonly #settings: object
  #process: { readonly pid: number; readonly ended: Promise<Ending> } | undefined

  constructor(
    name: string,
    ports: PortPair,
    { etcdAddress, settings }: { etcdAddress: string | undefined; settings: object },
  ) {
    super(name, ports)
    this.directory = mkdtempSync(path.join(tmpdir(), `understudy-node-${name}-`))
    this.#etcdAddress = etcdAddress
    this.#settings = settings
  }

  get isRunning(): boolean {
    return this.#process !== undefined
  }

  get lastLogLines(): string {
    return lastLogLines(this.#files.logFile)
  }

  async start(): Promise<void> {
    writeFileSync(this.#files.configFile, JSON.stringify(this.#config))
    const started = launchServer(this.name, this.#files, true)
    this.#process = started
    const ended = started.ended.then((ending) => {
      throw new Error(`node ${this.name} has ended with ${ending}\n${this.lastLogLines}`)
    })
    ended.catch(() => undefined)
    await Promise.race([until(async () => (await this.health()) !== 0), ended])
  }

  signal(name: NodeJS.Signals): void {
    if (this.#process) process.kill(this.#process.pid, name)
  }

  stop(): Promise<void> {
    return this.#end('SIGTERM')
  }

  crash(): Promise<void> {
    return this.#end('SIGKILL')
  }

  /** Its data is given up as well. */
  async destroy(): Promise<void> {
    await this.#end('SIGKILL')
    rmSync(this.directory, { recursive: true, force: true })
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const running = this.#process
    this.#process = undefined
    if (!running) return
    process.kill(running.pid, signal)
    await running.ended
  }

  get #config(): object {
    const directory = path.join(this.directory, 'data')
    if (this.#etcdAddress === undefined) return this.configOf({ file: { path: directory } }, this.#settings)
    const etcd = { address: `http://${this.#etcdAddress}`, ha_enabled: 'true', request_timeout: '1s' }
    return this.configOf({ etcd }, { leader_lease: '2s', data_dir: directory, ...this.#settings })
  }

  get #files() {
    return { configFile: path.join(this.directory, 'server.json'), logFile: path.join(this.directory, 'server.log') }
  }
}

/** A cluster of several processes over one etcd, or of one process without. Nothing runs yet. */
export const nodeProcesses = async (
  names: readonly string[],
  etcdAddress: string | undefined,
  settings: object = {},
): Promise<TestNodes<NodeProcess>> => {
  const ports = await randomPorts([...names])
  const all = names.map((name) => {
    const pair = ports.get(name)
    if (!pair) throw new Error(`no ports for ${name}`)
    return new NodeProcess(name, pair, { etcdAddress, settings })
  })
  return new TestNodes(all)
}
