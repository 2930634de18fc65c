import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type PortPair, randomPorts } from '../../src/lab/model/ports.js'
import { type Ending, lastLogLines, launchServer } from '../../src/lab/processes/child-process.js'
import { TestNode, TestNodes } from './nodes.js'
import { until } from './until.js'

/** What is configured where nodes differ, given the directory of one. */
type Configure = (directory: string) => { readonly storage: object; readonly settings: object }

/** A server as a process of its own. */
export class NodeProcess extends TestNode {
  readonly directory: string
  readonly #configure: Configure
  readonly #more: (name: string) => object
  #process: { readonly pid: number; readonly ended: Promise<Ending> } | undefined

  constructor(name: string, ports: PortPair, configure: Configure, more: (name: string) => object = () => ({})) {
    super(name, ports)
    this.#more = more
    this.directory = mkdtempSync(path.join(tmpdir(), `understudy-node-${name}-`))
    this.#configure = configure
  }

  get isRunning(): boolean {
    return this.#process !== undefined
  }

  /** Undefined while it does not run. */
  get pid(): number | undefined {
    return this.#process?.pid
  }

  /** Where it keeps its copy of what lies in etcd. */
  get copyDirectory(): string {
    return path.join(this.directory, 'data', 'copy')
  }

  get lastLogLines(): string {
    return lastLogLines(this.#files.logFile)
  }

  async start(): Promise<void> {
    const { storage, settings } = this.#configure(path.join(this.directory, 'data'))
    writeFileSync(
      this.#files.configFile,
      JSON.stringify({ ...this.configOf(storage, settings), ...this.#more(this.name) }),
    )
    const started = launchServer(this.name, this.#files, true)
    this.#process = started
    const ended = started.ended.then((ending) => {
      if (this.#process === started) this.#process = undefined
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

  get #files() {
    return { configFile: path.join(this.directory, 'server.json'), logFile: path.join(this.directory, 'server.log') }
  }
}

/**
 * A cluster of several processes over one etcd, with one address or several in the order of preference, or of one process
 * without. `more`: the rest of the configuration, asked for at each start. Nothing runs yet.
 */
export const nodeProcesses = async (
  names: readonly string[],
  etcdAddress: string | ((name: string) => string | readonly string[]) | undefined,
  settings: object = {},
  more: object | ((name: string) => object) = {},
): Promise<TestNodes<NodeProcess>> => {
  const ports = await randomPorts([...names])
  const configureFor =
    (name: string): Configure =>
    (directory) => {
      if (etcdAddress === undefined) return { storage: { file: { path: directory } }, settings }
      const given = typeof etcdAddress === 'string' ? etcdAddress : etcdAddress(name)
      const address = [given]
        .flat()
        .map((one) => `http://${one}`)
        .join(',')
      const etcd = { address, ha_enabled: 'true', request_timeout: '1s' }
      return { storage: { etcd }, settings: { leader_lease: '2s', data_dir: directory, ...settings } }
    }
  const moreOf = (name: string): object => (typeof more === 'function' ? more(name) : more)
  return new TestNodes(names.map((name) => new NodeProcess(name, portsOf(ports, name), configureFor(name), moreOf)))
}

/** Processes that are to be a cluster by storage "raft". Nothing runs yet, and none knows of another unless they are to join by themselves. */
export const raftProcesses = async (
  names: readonly string[],
  { settings = {}, isJoining = false }: { readonly settings?: object; readonly isJoining?: boolean } = {},
): Promise<TestNodes<NodeProcess>> => {
  const ports = await randomPorts(names.flatMap((name) => [name, `${name}-peer`]))
  const others = names.map((name) => ({ leader_api_addr: `http://127.0.0.1:${portsOf(ports, name).api}` }))
  const joining = isJoining ? { retry_join: others } : {}
  const all = names.map((name) => {
    const etcd_peer_address = `127.0.0.1:${portsOf(ports, `${name}-peer`).api}`
    return new NodeProcess(name, portsOf(ports, name), (directory) => ({
      storage: { raft: { path: directory, node_id: name, ...joining } },
      settings: { leader_lease: '2s', etcd_peer_address, ...settings },
    }))
  })
  return new TestNodes(all)
}

const portsOf = (ports: ReadonlyMap<string, PortPair>, name: string): PortPair => {
  const pair = ports.get(name)
  if (!pair) throw new Error(`no ports for ${name}`)
  return pair
}
