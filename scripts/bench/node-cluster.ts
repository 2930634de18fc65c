import { performance } from 'node:perf_hooks'
import { systemClock } from '../../src/base/clock.js'
import type { ApiClient } from '../../src/client/api-client.js'
import { randomPorts } from '../../src/lab/model/ports.js'
import { waitFor } from '../../src/lab/requests/wait.js'
import type { Bench } from './figures/context.js'
import type { BenchServer } from './servers.js'

const WAIT_MS = 120_000
const NAMES = ['n1', 'n2', 'n3']

interface Raft {
  readonly servers: readonly { readonly leader: boolean; readonly voter: boolean }[]
}

/** Three nodes of one cluster with storage "raft". Each node has its own etcd. */
export class NodeCluster {
  readonly all: readonly BenchServer[]

  private constructor(all: readonly BenchServer[]) {
    this.all = all
  }

  /** Starts the cluster and mounts `kv1/`. */
  static async open(bench: Bench, lease: string): Promise<NodeCluster> {
    const ports = await randomPorts(NAMES)
    const settingsOf = (name: string) => ({
      leader_lease: lease,
      role_change_wait: '20s',
      step_down_rest: '1s',
      etcd_peer_address: `127.0.0.1:${ports.get(name)?.api}`,
    })
    const [first, ...others] = [
      await bench.server('n1', { settings: settingsOf('n1') }),
      await bench.unopened('n2', { settings: settingsOf('n2') }),
      await bench.unopened('n3', { settings: settingsOf('n3') }),
    ]
    if (!first) throw new Error('unreachable')
    await first.client().write('sys/mounts/kv1', { type: 'kv', options: { version: '1' } })
    const cluster = new NodeCluster([first, ...others])
    for (const server of others) {
      await server.start()
      await server.client().call('PUT', 'sys/storage/raft/join', {
        body: { leader_api_addr: `http://127.0.0.1:${first.apiPort}` },
      })
      server.unsealKeys = first.unsealKeys
      server.rootToken = first.rootToken
      await cluster.#enter(server)
    }
    await cluster.whole()
    return cluster
  }

  /** Waits until one of these nodes is active, and returns it. */
  async active(among = this.all): Promise<BenchServer> {
    let found: BenchServer | undefined
    await eventually('a node to be active', async () => {
      for (const server of among) if ((await healthOf(server)) === 200) found = server
      return found !== undefined
    })
    if (!found) throw new Error('unreachable')
    return found
  }

  /** Resolves when each node has a vote and can be elected. */
  async whole(): Promise<void> {
    await eventually('every node to have a vote', async () => {
      const { json } = await (await this.active()).client().send('GET', 'sys/storage/raft/configuration')
      const { servers = [] } = ((json?.data as { config?: Raft } | undefined)?.config ?? {}) as Partial<Raft>
      return servers.filter(({ voter }) => voter).length === this.all.length
    })
    for (const server of this.all) {
      await eventually(`${server.name} to follow`, async () => [200, 429, 473].includes(await healthOf(server)))
    }
  }

  /** Resolves when every standby has the current index of the active node. */
  async level(): Promise<void> {
    const { last_wal } = await (await this.active()).client().call('GET', 'sys/leader')
    for (const server of this.all) {
      await eventually(`${server.name} to have all entries`, async () => {
        const { json } = await server.client().send('GET', 'sys/leader')
        return json?.is_self === true || Number(json?.performance_standby_last_remote_wal) >= Number(last_wal)
      })
    }
  }

  /**
   * Kills the active node, and resolves to the milliseconds until the first acknowledged write. Restarts the killed
   * node.
   */
  async killActive(): Promise<number> {
    const killed = await this.active()
    const others = this.all.filter((server) => server !== killed)
    const beganMs = performance.now()
    const exited = killed.stop('SIGKILL')
    const firstMs = await firstWrite(others)
    await exited
    await killed.start()
    await this.#enter(killed)
    await this.whole()
    return firstMs - beganMs
  }

  /** Makes the active node step down, and resolves to the milliseconds until the first acknowledged write. */
  async stepDown(): Promise<number> {
    const active = await this.active()
    const beganMs = performance.now()
    await active.client().call('PUT', 'sys/step-down')
    const firstMs = await firstWrite(this.all)
    await this.whole()
    return firstMs - beganMs
  }

  async #enter(server: BenchServer): Promise<void> {
    await eventually(`${server.name} to be initialized`, async () => {
      const { json } = await server.client().send('GET', 'sys/seal-status')
      return json?.initialized === true
    })
    await server.unseal()
  }
}

/** Writes at each of these servers, and returns the time of the first acknowledgment. */
const firstWrite = async (servers: readonly BenchServer[]): Promise<number> => {
  let firstMs: number | undefined
  const write = async (client: ApiClient): Promise<void> => {
    for (let turn = 0; firstMs === undefined; turn++) {
      const answer = await client.send('PUT', `kv1/first-${turn % 8}`, { body: { turn } }).catch(() => undefined)
      if (answer?.status === 204) firstMs ??= performance.now()
    }
  }
  await Promise.all(servers.map((server) => write(server.client())))
  if (firstMs === undefined) throw new Error('no node accepted a write')
  return firstMs
}

const healthOf = async (server: BenchServer): Promise<number> => {
  const answer = await server
    .client()
    .send('GET', 'sys/health')
    .catch(() => undefined)
  return answer?.status ?? 0
}

const eventually = (what: string, fact: () => Promise<boolean>): Promise<void> =>
  waitFor(systemClock, what, async () => ((await fact()) ? undefined : 'not yet'), WAIT_MS)
