import { systemClock } from '../../src/base/clock.js'
import { silentLog } from '../../src/base/log.js'
import { ApiClient, type ApiAnswer, type ApiCall } from '../../src/client/api-client.js'
import { type PortPair, randomPorts } from '../../src/lab/ports.js'
import { loadServerConfig } from '../../src/server/config/server-config.js'
import { Server } from '../../src/server/server.js'
import { MemoryLog } from '../../src/storage/commit-log/memory-log.js'
import { MemorySharedLog } from '../../src/storage/commit-log/memory-shared-log.js'
import { openMemoryGenerations } from '../../src/storage/engine/memory-generations.js'
import { until } from './until.js'

/** Long enough for a machine that stands still for a while: nobody is to lose it by chance. */
const LEASE_MS = 20_000

type Settings = Readonly<Record<string, string>>

interface Surroundings {
  readonly log: MemoryLog
  /** Of the stanza of our own. */
  readonly settings: Settings
  /** The rest of the configuration. */
  readonly more: object
}

/** One node: a server on ports that it keeps, with a disk that is empty at each start. */
export class TestNode {
  readonly name: string
  readonly address: string
  readonly anonymous: ApiClient
  readonly #ports: PortPair
  readonly #log: MemoryLog
  readonly #settings: Settings
  readonly #more: object
  shared: MemorySharedLog | undefined
  server: Server | undefined

  constructor(name: string, ports: PortPair, { log, settings, more }: Surroundings) {
    this.#more = more
    this.name = name
    this.#ports = ports
    this.#log = log
    this.#settings = settings
    this.address = `http://127.0.0.1:${ports.api}`
    this.anonymous = new ApiClient({ address: this.address, timeoutMs: 30_000 })
  }

  get clusterAddress(): string {
    return `https://127.0.0.1:${this.#ports.cluster}`
  }

  async start(): Promise<void> {
    const local = {
      listener: {
        tcp: {
          address: `127.0.0.1:${this.#ports.api}`,
          cluster_address: `127.0.0.1:${this.#ports.cluster}`,
          tls_disable: true,
        },
      },
      storage: { inmem: {} },
      api_addr: this.address,
      cluster_addr: this.clusterAddress,
      ...this.#more,
      understudy: { role_change_wait: '20s', step_down_rest: '1s', ...this.#settings },
    }
    const env = { VAULT_LOCAL_CONFIG: JSON.stringify(local), VAULT_RAFT_NODE_ID: this.name }
    const { config, problems } = loadServerConfig([], env)
    if (!config) throw new Error(JSON.stringify(problems))
    this.shared = new MemorySharedLog(this.#log, systemClock)
    this.server = await Server.start({
      config,
      log: silentLog,
      sharedLog: this.shared,
      openStorage: async () => openMemoryGenerations(),
    })
  }

  /** Ends in order. */
  async stop(): Promise<void> {
    const { server } = this
    this.server = undefined
    await server?.close(0)
  }

  /** Ends as after SIGKILL: nothing is given up, and nobody is told. */
  async crash(): Promise<void> {
    const { server, shared } = this
    this.server = undefined
    shared?.crash()
    await server?.close(0).catch(() => undefined)
  }

  async health(): Promise<number> {
    return (await this.anonymous.send('GET', 'sys/health')).status
  }

  send(method: string, path: string, call: ApiCall = {}): Promise<ApiAnswer> {
    return this.anonymous.send(method, path, call)
  }
}

interface NodesOptions {
  /** How long a leader that is gone is waited for. */
  readonly leaseMs?: number
  readonly settings?: Settings
  /** The rest of the configuration. */
  readonly more?: object
}

/** A cluster of several nodes in this process, over a log in memory. */
export class TestNodes {
  readonly all: readonly TestNode[]
  rootToken = ''
  keys: string[] = []

  private constructor(all: readonly TestNode[]) {
    this.all = all
  }

  static async start(names: readonly string[], options: NodesOptions = {}): Promise<TestNodes> {
    const { leaseMs = LEASE_MS, settings = {}, more = {} } = options
    const log = new MemoryLog({ clock: systemClock, leaseMs })
    const ports = await randomPorts([...names])
    const all = names.map((name) => {
      const pair = ports.get(name)
      if (!pair) throw new Error(`no ports for ${name}`)
      return new TestNode(name, pair, { log, settings, more })
    })
    for (const node of all) await node.start()
    return new TestNodes(all)
  }

  /** Initialises the cluster on the first node, and unseals every one: the first one is active before the others are. */
  async open(): Promise<void> {
    const [first] = this.all
    if (!first) throw new Error('no nodes')
    const made = await first.anonymous.call('PUT', 'sys/init', { body: { secret_shares: 3, secret_threshold: 2 } })
    this.keys = made.keys as string[]
    this.rootToken = String(made.root_token)
    for (const node of this.all) {
      await until(async () => (await node.anonymous.read('sys/seal-status')).initialized === true)
      await this.unseal(node)
      await until(async () => [200, 429].includes(await node.health()))
      if (node === first) await this.active()
    }
  }

  async unseal(node: TestNode): Promise<void> {
    for (const key of this.keys.slice(0, 2)) await node.anonymous.call('PUT', 'sys/unseal', { body: { key } })
  }

  /** The active node, once there is one. */
  async active(among: readonly TestNode[] = this.running): Promise<TestNode> {
    let found: TestNode | undefined
    await until(async () => {
      for (const node of among) if ((await node.health()) === 200) found = node
      return found !== undefined
    })
    if (!found) throw new Error('none')
    return found
  }

  get running(): readonly TestNode[] {
    return this.all.filter(({ server }) => server !== undefined)
  }

  clientOf(node: TestNode, token = this.rootToken): ApiClient {
    return new ApiClient({ address: node.address, token, timeoutMs: 30_000 })
  }

  async close(): Promise<void> {
    for (const node of this.all) await node.stop()
  }
}
