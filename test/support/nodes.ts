import { ApiClient, type ApiAnswer, type ApiCall } from '../../src/client/api-client.js'
import type { PortPair } from '../../src/lab/model/ports.js'
import { localConfig } from './local-config.js'
import { until } from './until.js'

/** A node of a cluster under test, with fixed ports. */
export abstract class TestNode {
  readonly name: string
  readonly ports: PortPair
  readonly anonymous: ApiClient

  constructor(name: string, ports: PortPair) {
    this.name = name
    this.ports = ports
    this.anonymous = new ApiClient({ address: this.address, timeoutMs: 60_000 })
  }

  get address(): string {
    return `http://127.0.0.1:${this.ports.api}`
  }

  get clusterAddress(): string {
    return `https://127.0.0.1:${this.ports.cluster}`
  }

  abstract get isRunning(): boolean

  /** Resolves when the node responds. */
  abstract start(): Promise<void>

  /** Stops the node cleanly. */
  abstract stop(): Promise<void>

  /** Stops the node as SIGKILL does, without any notification. */
  abstract crash(): Promise<void>

  /** Returns the status of sys/health; 0 without a response. */
  async health(): Promise<number> {
    const answer = await this.send('GET', 'sys/health').catch(() => undefined)
    return answer?.status ?? 0
  }

  send(method: string, path: string, call: ApiCall = {}): Promise<ApiAnswer> {
    return this.anonymous.send(method, path, call)
  }
}

/** Returns the configuration of a node with this storage and these settings of the stanza `understudy`. */
export const nodeConfig = (ports: PortPair, storage: object, settings: object) =>
  localConfig(ports, { storage, understudy: { role_change_wait: '20s', step_down_rest: '1s', ...settings } })

/** A cluster of several nodes. */
export class TestNodes<N extends TestNode = TestNode> {
  readonly all: readonly N[]
  rootToken = ''
  keys: string[] = []

  constructor(all: readonly N[]) {
    this.all = all
  }

  /** Initializes the cluster on the first node, and unseals all nodes. The first node becomes active. */
  async open(): Promise<void> {
    const first = await this.openFirst()
    await this.active()
    for (const node of this.without(first)) await this.unseal(node)
  }

  /** Initializes and unseals the first node. */
  async openFirst(): Promise<N> {
    const [first] = this.all
    if (!first) throw new Error('no nodes')
    const made = await first.anonymous.call('PUT', 'sys/init', { body: { secret_shares: 3, secret_threshold: 2 } })
    this.keys = made.keys as string[]
    this.rootToken = String(made.root_token)
    await this.unseal(first)
    return first
  }

  /** Unseals a node as soon as it knows its seal configuration. Resolves when it is unsealed. */
  async unseal(node: N): Promise<void> {
    // A node that has not joined its cluster yet reports no threshold.
    await until(async () => Number((await node.anonymous.read('sys/seal-status')).t) > 0)
    for (const key of this.keys.slice(0, 2)) await node.anonymous.call('PUT', 'sys/unseal', { body: { key } })
    await until(async () => [200, 429, 472, 473].includes(await node.health()))
  }

  /** Waits for the active node, and returns it. */
  async active(among: readonly N[] = this.running): Promise<N> {
    let found: N | undefined
    await until(async () => {
      for (const node of among) if ((await node.health()) === 200) found = node
      return found !== undefined
    })
    if (!found) throw new Error('none')
    return found
  }

  /** Returns the node that reports itself as active, also in a DR secondary; undefined if there is none. */
  async serving(): Promise<N | undefined> {
    for (const node of this.running) {
      const answer = await node.send('GET', 'sys/leader').catch(() => undefined)
      if (answer?.json?.is_self === true) return node
    }
    return undefined
  }

  get running(): readonly N[] {
    return this.all.filter(({ isRunning }) => isRunning)
  }

  /** Resolves when all performance standbys have the current index of the active node. */
  async level(): Promise<void> {
    const { last_wal } = await (await this.active()).anonymous.read('sys/leader')
    for (const node of this.running) {
      await until(async () => {
        const { json } = await node.send('GET', 'sys/leader')
        return !json?.performance_standby || Number(json.performance_standby_last_remote_wal) >= Number(last_wal)
      })
    }
  }

  /** Returns all nodes except one. */
  without(one: N): readonly N[] {
    return this.all.filter((node) => node !== one)
  }

  clientOf(node: N, token = this.rootToken): ApiClient {
    return new ApiClient({ address: node.address, token, timeoutMs: 60_000 })
  }

  async close(): Promise<void> {
    for (const node of this.all) await node.stop()
  }
}
