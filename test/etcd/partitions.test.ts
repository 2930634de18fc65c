import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import net from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { errorsOf } from '../../src/client/api-client.js'
import { EtcdProcess, fill, freeSpace, startEtcd } from '../support/etcd.js'
import { type NodeProcess, nodeProcesses } from '../support/node-processes.js'
import { expectAll, Writers } from '../support/node-writers.js'
import { openLink } from '../support/open-link.js'
import type { TestNodes } from '../support/nodes.js'
import { until } from '../support/until.js'
import { randomSinglePorts } from '../../src/lab/model/ports.js'
import type { Link } from '../../src/lab/proxy/link.js'

/** Links between several processes. Each pair of processes can be partitioned. */
class ProcessLinks {
  readonly #pids: () => ReadonlyMap<string, number>
  readonly #ports = new Map<string, number>()
  readonly #fronts: net.Server[] = []
  /** By caller and callee, such as `A>B`. */
  readonly #links = new Map<string, Promise<Link>>()

  /** `pids` returns the running processes by name. */
  constructor(pids: () => ReadonlyMap<string, number>) {
    this.#pids = pids
  }

  /**
   * Opens a proxy in front of a port of the named process, for the other processes. Resolves to the port of the proxy.
   */
  async open(name: string, port: number): Promise<number> {
    this.#ports.set(name, port)
    const front = net.createServer({ pauseOnConnect: true })
    await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
    const { port: own } = front.address() as net.AddressInfo
    front.on('connection', (near) => void this.#join(near, name, own))
    this.#fronts.push(front)
    return own
  }

  /** Partitions two processes until they are healed. Messages sent in the meantime arrive then. */
  async cut(one: string, other: string): Promise<void> {
    for (const link of await this.#between(one, other)) link.hold()
  }

  async heal(one: string, other: string): Promise<void> {
    for (const link of await this.#between(one, other)) link.release()
  }

  async close(): Promise<void> {
    for (const front of this.#fronts) front.close()
    for (const link of this.#links.values()) await (await link).close()
  }

  #between(one: string, other: string): Promise<Link[]> {
    return Promise.all([this.#link(one, other), this.#link(other, one)])
  }

  #link(from: string, to: string): Promise<Link> {
    const link = this.#links.get(`${from}>${to}`) ?? openLink(this.#ports.get(to) ?? 0)
    this.#links.set(`${from}>${to}`, link)
    return link
  }

  async #join(near: net.Socket, name: string, port: number): Promise<void> {
    const from = findOwner(this.#pids(), near.remotePort ?? 0, port)
    if (from === undefined) return void near.destroy()
    const far = net.connect((await this.#link(from, name)).port, '127.0.0.1')
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const)
      socket
        .setNoDelay(true)
        .on('error', () => other.destroy())
        .on('close', () => other.destroy())
    near.pipe(far).pipe(near)
  }
}

/** Returns each pair of elements once. */
const pairsOf = <T>(all: readonly T[]): readonly (readonly [T, T])[] =>
  all.flatMap((one, index) => all.slice(index + 1).map((other) => [one, other] as const))

/** Returns the name of the process with a TCP connection from port `from` to port `to`, or undefined. */
const findOwner = (pids: ReadonlyMap<string, number>, from: number, to: number): string | undefined => {
  const [local, remote] = [from, to].map((port) => `:${port.toString(16).toUpperCase().padStart(4, '0')}`)
  const rows = ['tcp', 'tcp6'].flatMap((name) => readFileSync(`/proc/net/${name}`, 'utf8').split('\n'))
  const row = rows
    .map((line) => line.trim().split(/\s+/))
    .find(([, a, b]) => a?.endsWith(`${local}`) && b?.endsWith(`${remote}`))
  const socket = `socket:[${row?.[9]}]`
  for (const [name, pid] of pids) if (filesOf(pid).includes(socket)) return name
  return undefined
}

const filesOf = (pid: number): readonly string[] => {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((file) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${file}`)
      } catch {
        return ''
      }
    })
  } catch {
    return []
  }
}

const MEMBERS = ['one', 'two', 'three']

/** Three members of an etcd cluster, each in its own process, with links that can be cut. */
class EtcdMembers {
  readonly names: readonly string[]
  readonly links: ProcessLinks
  readonly #members: ReadonlyMap<string, EtcdProcess>

  private constructor(links: ProcessLinks, members: ReadonlyMap<string, EtcdProcess>) {
    this.links = links
    this.#members = members
    this.names = [...members.keys()]
  }

  static async start(): Promise<EtcdMembers> {
    const members = new Map<string, EtcdProcess>()
    const links = new ProcessLinks(() => pidsOf(members))
    const peers: { name: string; listen: string; advertised: string }[] = []
    const ports = await randomSinglePorts(MEMBERS.length)
    for (const [index, name] of MEMBERS.entries()) {
      const port = ports[index] ?? 0
      peers.push({
        name,
        listen: `http://127.0.0.1:${port}`,
        advertised: `http://127.0.0.1:${await links.open(name, port)}`,
      })
    }
    const all = peers.map(({ name, advertised }) => `${name}=${advertised}`).join(',')
    for (const { name, listen, advertised } of peers) {
      const flags = ['--name', name, '--listen-peer-urls', listen, '--initial-advertise-peer-urls', advertised]
      members.set(name, await EtcdProcess.prepare('http', ...flags, '--initial-cluster', all))
    }
    await Promise.all([...members.values()].map((member) => member.run()))
    return new EtcdMembers(links, members)
  }

  /** Returns the addresses of all members, the one at index `first` first. */
  addressesFrom(first: number): readonly string[] {
    const all = [...this.#members.values()].map(({ address }) => address)
    return [...all.slice(first), ...all.slice(0, first)]
  }

  async destroy(): Promise<void> {
    await Promise.all([...this.#members.values()].map((member) => member.destroy()))
    await this.links.close()
  }
}

const pidsOf = (members: ReadonlyMap<string, EtcdProcess>): ReadonlyMap<string, number> =>
  new Map([...members].flatMap(([name, { pid }]) => (pid === undefined ? [] : [[name, pid] as const])))

/** Three servers in separate processes, with partitions between any two processes, clock changes and a full etcd. */

const NAMES = ['A', 'B', 'C']

const open = async (nodes: TestNodes<NodeProcess>): Promise<void> => {
  await Promise.all(nodes.all.map((node) => node.start()))
  await nodes.open()
  await nodes.clientOf(await nodes.active()).call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
}

/** Waits until every node accepts a write. */
const expectWrites = async (nodes: TestNodes<NodeProcess>): Promise<void> => {
  for (const node of nodes.all) {
    const write = () => nodes.clientOf(node).send('PUT', 'kv/it', { body: { value: node.name } })
    await until(async () => (await write()).status === 204)
  }
}

const expectNothingLost = async (nodes: TestNodes<NodeProcess>, writers: Writers): Promise<void> => {
  await expectWrites(nodes)
  await writers.more()
  await writers.stop()
  await nodes.level()
  for (const node of nodes.all) await expectAll(nodes.clientOf(node), writers)
}

test('writes continue while any two etcd members are partitioned, and while one member is isolated', async () => {
  const etcd = await EtcdMembers.start()
  onTestFinished(() => etcd.destroy())
  const nodes = await nodeProcesses(NAMES, (name) => etcd.addressesFrom(NAMES.indexOf(name)))
  await open(nodes)
  const writers = new Writers(nodes)
  await writers.more()
  const pairs = pairsOf(etcd.names)
  for (const [one, other] of pairs) {
    await etcd.links.cut(one, other)
    await writers.more()
    await etcd.links.heal(one, other)
  }
  for (const name of etcd.names) {
    const own = pairs.filter((pair) => pair.includes(name))
    for (const [one, other] of own) await etcd.links.cut(one, other)
    await writers.more()
    for (const [one, other] of own) await etcd.links.heal(one, other)
  }
  await expectNothingLost(nodes, writers)
})

test('a partition between any two nodes causes no failover while both reach etcd', async () => {
  const etcd = await startEtcd()
  const addresses = new Map<string, string>()
  const nodes: TestNodes<NodeProcess> = await nodeProcesses(NAMES, etcd.address, {}, (name: string) => ({
    cluster_addr: addresses.get(name),
  }))
  const links = new ProcessLinks(() => new Map(nodes.running.map(({ name, pid = 0 }) => [name, pid])))
  onTestFinished(() => links.close())
  for (const { name, ports } of nodes.all) {
    addresses.set(name, `https://127.0.0.1:${await links.open(name, ports.cluster)}`)
  }
  await open(nodes)
  const active = await nodes.active()
  const writers = new Writers(nodes)
  for (const [one, other] of pairsOf(nodes.all)) {
    await expectWrites(nodes)
    await links.cut(one.name, other.name)
    await writers.more()
    expect(await nodes.active()).toBe(active)
    await links.heal(one.name, other.name)
  }
  await expectNothingLost(nodes, writers)
})

test('a change of the clock of a node causes no failover and loses no acknowledged write', async () => {
  const etcd = await startEtcd()
  const nodes = await nodeProcesses(NAMES, etcd.address, { lab_api: true })
  await open(nodes)
  const active = await nodes.active()
  const { active_time } = await active.anonymous.read('sys/leader')
  const writers = new Writers(nodes)
  for (const skew of ['1h', '-1h', '0s']) {
    for (const node of nodes.all) {
      await writers.more()
      await node.anonymous.call('POST', '/_understudy/v1/clock', { body: { skew } })
    }
  }
  expect(await active.anonymous.read('sys/leader')).toMatchObject({ is_self: true, active_time })
  await nodes.clientOf(active).call('PUT', 'sys/step-down')
  await nodes.active(nodes.without(active))
  await expectNothingLost(nodes, writers)
})

test('a full etcd makes writes fail with the reason, while reads succeed, and writes succeed after space is freed', async () => {
  const etcd = await startEtcd('--quota-backend-bytes', String(8 * 1024 * 1024))
  const nodes = await nodeProcesses(NAMES, etcd.address)
  await open(nodes)
  const active = await nodes.active()
  const client = nodes.clientOf(active)
  const value = 'x'.repeat(100_000)
  const put = () => client.send('PUT', 'kv/big', { body: { value } })
  expect((await put()).status).toBe(204)
  await fill(etcd)
  const refused = await put()
  expect([refused.status, errorsOf(refused)]).toEqual([503, [expect.stringContaining('database space exceeded')]])
  const expectReads = async () => {
    for (const node of nodes.all) {
      const read = await nodes.clientOf(node).send('GET', 'kv/big')
      expect([read.status, read.json?.data]).toEqual([200, { value }])
    }
  }
  await expectReads()
  await until(async () => {
    await freeSpace(etcd)
    return (await put()).status === 204
  })
  expect(await nodes.active()).toBe(active)
  await nodes.level()
  await expectReads()
})
