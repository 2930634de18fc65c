import { afterEach, expect, test } from 'vitest'
import { errorsOf } from '../../src/client/api-client.js'
import { EtcdProcess } from '../support/etcd.js'
import { EtcdMembers } from '../support/etcd-members.js'
import { fill, makeRoom } from '../support/etcd-questions.js'
import { CutWays, pairsOf } from '../support/held-way.js'
import { type NodeProcess, nodeProcesses } from '../support/node-processes.js'
import { expectAll, Writers } from '../support/node-writers.js'
import type { TestNodes } from '../support/nodes.js'
import { until } from '../support/until.js'

/** Three servers, each a process: any two processes cannot reach each other, clocks jump, and the etcd is full. */

const ended: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await end()
})

const NAMES = ['A', 'B', 'C']

const startEtcd = async (...flags: string[]): Promise<EtcdProcess> => {
  const etcd = await EtcdProcess.start(...flags)
  ended.push(() => etcd.destroy())
  return etcd
}

const open = async (nodes: TestNodes<NodeProcess>): Promise<void> => {
  for (const node of nodes.all) ended.push(() => node.destroy())
  await Promise.all(nodes.all.map((node) => node.start()))
  await nodes.open()
  await nodes.clientOf(await nodes.active()).call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
}

/** Every node takes a write. */
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

test('members of the etcd that cannot reach one another, pair by pair, and one that reaches none: writes go on', async () => {
  const etcd = await EtcdMembers.start()
  ended.push(() => etcd.destroy())
  const nodes = await nodeProcesses(NAMES, (name) => etcd.addressesFrom(NAMES.indexOf(name)))
  await open(nodes)
  const writers = new Writers(nodes)
  await writers.more()
  const pairs = pairsOf(etcd.names)
  for (const [one, other] of pairs) {
    etcd.ways.cut(one, other)
    await writers.more()
    etcd.ways.heal(one, other)
  }
  for (const name of etcd.names) {
    const own = pairs.filter((pair) => pair.includes(name))
    for (const [one, other] of own) etcd.ways.cut(one, other)
    await writers.more()
    for (const [one, other] of own) etcd.ways.heal(one, other)
  }
  await expectNothingLost(nodes, writers)
})

test('nodes that cannot reach one another, pair by pair: whoever reaches the etcd stays what it is', async () => {
  const etcd = await startEtcd()
  const addresses = new Map<string, string>()
  const nodes: TestNodes<NodeProcess> = await nodeProcesses(NAMES, etcd.address, {}, (name: string) => ({
    cluster_addr: addresses.get(name),
  }))
  const ways = new CutWays(() => new Map(nodes.running.map(({ name, pid = 0 }) => [name, pid])))
  ended.push(async () => ways.close())
  for (const { name, ports } of nodes.all) {
    addresses.set(name, `https://127.0.0.1:${await ways.open(name, ports.cluster)}`)
  }
  await open(nodes)
  const active = await nodes.active()
  const writers = new Writers(nodes)
  for (const [one, other] of pairsOf(nodes.all)) {
    await expectWrites(nodes)
    ways.cut(one.name, other.name)
    await writers.more()
    expect(await nodes.active()).toBe(active)
    ways.heal(one.name, other.name)
  }
  await expectNothingLost(nodes, writers)
})

test('the clock of a node jumps: nobody takes its lead, and nothing acknowledged is lost', async () => {
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

test('the etcd is full: writes are refused with the reason, reads go on, and so do writes when there is room', async () => {
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
    await makeRoom(etcd)
    return (await put()).status === 204
  })
  expect(await nodes.active()).toBe(active)
  await nodes.level()
  await expectReads()
})
