import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { type PortPair, randomPorts } from '../../src/lab/model/ports.js'
import { type Ending, lastLogLines, launchServer, signal } from '../../src/lab/processes/child-process.js'
import { runningProcesses } from './lab-home.js'
import { nodeConfig, TestNode, TestNodes } from './nodes.js'
import { until } from './until.js'

interface ServerLocation {
  readonly name: string
  readonly ports: PortPair
  /** A temporary directory by default. */
  readonly directory?: string
}

/** A server that runs as its own process. It is started with the same directory and ports each time. */
export class NodeProcess extends TestNode {
  readonly directory: string
  /** Returns the configuration for a data directory. Called at each start. */
  configure: (dataDir: string) => object
  #process: { readonly pid: number; readonly ended: Promise<Ending> } | undefined

  constructor({ name, ports, directory }: ServerLocation, configure: (dataDir: string) => object) {
    super(name, ports)
    this.directory = directory ?? mkdtempSync(path.join(tmpdir(), `understudy-node-${name}-`))
    this.configure = configure
  }

  get isRunning(): boolean {
    return this.#process !== undefined
  }

  /** Undefined while it does not run. */
  get pid(): number | undefined {
    return this.#process?.pid
  }

  get dataDir(): string {
    return path.join(this.directory, 'data')
  }

  /** The directory with the copy of the data in etcd. */
  get copyDirectory(): string {
    return path.join(this.dataDir, 'copy')
  }

  get logFile(): string {
    return path.join(this.directory, 'server.log')
  }

  get lastLogLines(): string {
    return lastLogLines(this.logFile)
  }

  async start(): Promise<void> {
    const { name, logFile } = this
    const configFile = path.join(this.directory, 'server.json')
    mkdirSync(this.directory, { recursive: true, mode: 0o700 })
    writeFileSync(configFile, JSON.stringify(this.configure(this.dataDir)))
    const started = launchServer(name, { configFile, logFile }, true)
    this.#process = started
    const ended = started.ended.then((ending) => {
      if (this.#process === started) this.#process = undefined
      throw new Error(`server ${name} has ended with ${ending}\n${this.lastLogLines}`)
    })
    ended.catch(() => undefined)
    await Promise.race([until(async () => (await this.health()) !== 0), ended])
  }

  signal(name: NodeJS.Signals): void {
    if (this.#process) signal(this.#process.pid, name)
  }

  stop(): Promise<void> {
    return this.#end('SIGTERM')
  }

  crash(): Promise<void> {
    return this.#end('SIGKILL')
  }

  /** Kills the process, and deletes its data. */
  async destroy(): Promise<void> {
    await this.crash()
    rmSync(this.directory, { recursive: true, force: true })
  }

  async #end(name: NodeJS.Signals): Promise<void> {
    const running = this.#process
    this.#process = undefined
    if (!running) return
    signal(running.pid, name)
    await running.ended
  }
}

/**
 * Creates a cluster of several processes over etcd, or of one standalone process if `etcdAddress` is undefined, without
 * starting them. Addresses of etcd are in the order of preference. `more`: other parts of the configuration.
 */
export const nodeProcesses = async (
  names: readonly string[],
  etcdAddress: string | ((name: string) => string | readonly string[]) | undefined,
  settings: object = {},
  more: object | ((name: string) => object) = {},
): Promise<TestNodes<NodeProcess>> => {
  const ports = await randomPorts([...names])
  const configFor = (name: string, dataDir: string): object => {
    if (etcdAddress === undefined) return nodeConfig(portsOf(ports, name), { file: { path: dataDir } }, settings)
    const given = typeof etcdAddress === 'string' ? etcdAddress : etcdAddress(name)
    const address = [given]
      .flat()
      .map((one) => `http://${one}`)
      .join(',')
    return etcdConfig(portsOf(ports, name), dataDir, { address }, settings)
  }
  const moreOf = (name: string): object => (typeof more === 'function' ? more(name) : more)
  const make = (name: string) =>
    new NodeProcess({ name, ports: portsOf(ports, name) }, (dataDir) => ({
      ...configFor(name, dataDir),
      ...moreOf(name),
    }))
  return untilTestEnds(names.map(make))
}

/** Returns the configuration of a node over etcd. */
export const etcdConfig = (ports: PortPair, dataDir: string, storage: object, settings: object = {}) => {
  const etcd = { ha_enabled: 'true', request_timeout: '1s', ...storage }
  return nodeConfig(ports, { etcd }, { leader_lease: '2s', data_dir: dataDir, ...settings })
}

/**
 * Creates processes with storage "raft" without starting them. With `isJoining`, they join each other by `retry_join`.
 */
export const raftProcesses = async (
  names: readonly string[],
  { settings = {}, isJoining = false }: { readonly settings?: object; readonly isJoining?: boolean } = {},
): Promise<TestNodes<NodeProcess>> => {
  const ports = await randomPorts(names.flatMap((name) => [name, `${name}-peer`]))
  const others = names.map((name) => ({ leader_api_addr: `http://127.0.0.1:${portsOf(ports, name).api}` }))
  const joining = isJoining ? { retry_join: others } : {}
  const all = names.map((name) => {
    const etcd_peer_address = `127.0.0.1:${portsOf(ports, `${name}-peer`).api}`
    return new NodeProcess({ name, ports: portsOf(ports, name) }, (dataDir) =>
      nodeConfig(
        portsOf(ports, name),
        { raft: { path: dataDir, node_id: name, ...joining } },
        { leader_lease: '2s', etcd_peer_address, ...settings },
      ),
    )
  })
  return untilTestEnds(all)
}

/** Destroys the nodes at the end of the test. */
const untilTestEnds = (all: readonly NodeProcess[]): TestNodes<NodeProcess> => {
  onTestFinished(async () => {
    for (const node of all) await node.destroy()
  })
  return new TestNodes(all)
}

export const portsOf = (ports: ReadonlyMap<string, PortPair>, name: string): PortPair => {
  const pair = ports.get(name)
  if (!pair) throw new Error(`no ports for ${name}`)
  return pair
}

/** Starts servers with storage "raft". */
export const launchRaft = async (
  names: readonly string[],
  options: Parameters<typeof raftProcesses>[1] = {},
): Promise<TestNodes<NodeProcess>> => {
  const nodes = await raftProcesses(names, options)
  await Promise.all(nodes.all.map((node) => node.start()))
  return nodes
}

/** Starts servers with storage "raft" as one cluster, which the first of them has initialized. */
export const openRaft = async (names: readonly string[] = ['A', 'B', 'C'], settings: object = {}) => {
  const nodes = await launchRaft(names, { settings })
  const first = await openFirst(nodes)
  for (const node of nodes.without(first)) {
    await join(node, first)
    await nodes.unseal(node)
  }
  return { nodes, first }
}

/** Resolves when each node has a vote. */
export const untilAllVote = async (nodes: TestNodes<NodeProcess>): Promise<void> =>
  until(async () => Object.values(await serversOf(nodes)).filter(([, isVoter]) => isVoter).length === nodes.all.length)

/** Initializes and unseals the first node, and mounts `kv/`. */
export const openFirst = async (nodes: TestNodes<NodeProcess>): Promise<NodeProcess> => {
  const first = await nodes.openFirst()
  await nodes.clientOf(first).call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
  return first
}

export const join = (node: NodeProcess, leader: NodeProcess) =>
  node.anonymous.call('PUT', 'sys/storage/raft/join', { body: { leader_api_addr: leader.address } })

/** Returns, by node name: whether the node is the leader, and whether it has a vote. */
export const serversOf = async (nodes: TestNodes<NodeProcess>): Promise<Record<string, [boolean, boolean]>> => {
  const { data } = await nodes.clientOf(await nodes.active()).read('sys/storage/raft/configuration')
  const { servers } = (data as { config: { servers: { node_id: string; leader: boolean; voter: boolean }[] } }).config
  return Object.fromEntries(servers.map(({ node_id, leader, voter }) => [node_id, [leader, voter]]))
}

/** Returns the PIDs of the etcd processes with data of this node. */
export const etcdsOf = ({ directory }: NodeProcess): number[] =>
  runningProcesses()
    .filter(({ args: [program = '', ...flags] }) => {
      return path.basename(program) === 'etcd' && flags.some((flag) => flag.startsWith(directory))
    })
    .map(({ pid }) => pid)
