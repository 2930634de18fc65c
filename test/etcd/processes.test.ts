import { expect, test } from 'vitest'
import { startEtcd } from '../support/etcd.js'
import { type NodeProcess, nodeProcesses } from '../support/node-processes.js'
import { expectAll, expectKillsSurvived, expectUsesCounted, Writers } from '../support/node-writers.js'
import type { TestNodes } from '../support/nodes.js'
import { until } from '../support/until.js'

/** Three servers in separate processes that are one cluster over etcd. */

const open = async (names = ['A', 'B', 'C'], settings: object = {}) => {
  const etcd = await startEtcd()
  const nodes = await nodeProcesses(names, etcd.address, settings)
  await Promise.all(nodes.all.map((node) => node.start()))
  await nodes.open()
  await nodes.clientOf(await nodes.active()).call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
  return { etcd, nodes }
}

const restart = async (nodes: TestNodes<NodeProcess>, node: NodeProcess): Promise<void> => {
  await node.start()
  await nodes.unseal(node)
}

test('two processes over etcd are one cluster, and each takes over when the other one stops', async () => {
  const { nodes } = await open(['A', 'B'])
  const [a, b] = nodes.all as [NodeProcess, NodeProcess]
  expect([await a.health(), await b.health()]).toEqual([200, 473])
  await nodes.clientOf(b).call('PUT', 'kv/it', { body: { value: 1 } })
  expect((await nodes.clientOf(a).send('GET', 'kv/it')).json?.data).toEqual({ value: 1 })
  const { data } = (await nodes.clientOf(b).read('sys/ha-status')) as { data: { nodes: { api_address: string }[] } }
  expect(data.nodes.map(({ api_address }) => api_address).sort()).toEqual([a.address, b.address].sort())
  await a.stop()
  expect(await nodes.active()).toBe(b)
  await nodes.clientOf(b).call('PUT', 'kv/it', { body: { value: 2 } })
  await restart(nodes, a)
  await b.stop()
  expect(await nodes.active()).toBe(a)
  expect((await nodes.clientOf(a).send('GET', 'kv/it')).json?.data).toEqual({ value: 2 })
})

test('nodes over etcd lose no acknowledged write when active nodes are killed under load', async () => {
  const { nodes } = await open()
  await expectKillsSurvived(nodes)
})

test('an active node over etcd that was suspended past its lease acknowledges no write after it resumes', async () => {
  const { nodes } = await open()
  const writers = new Writers(nodes)
  await writers.more()
  const suspended = await nodes.active()
  suspended.signal('SIGSTOP')
  const second = await nodes.active(nodes.without(suspended))
  await nodes.clientOf(second).call('PUT', 'kv/it', { body: { value: 'new' } })
  const reading = nodes.clientOf(suspended).send('GET', 'kv/it', { headers: { 'X-Vault-Forward': 'active-node' } })
  suspended.signal('SIGCONT')
  expect((await reading).json?.data).toEqual({ value: 'new' })
  await until(async () => (await suspended.health()) === 473)
  await writers.more()
  await writers.stop()
  await nodes.level()
  for (const node of nodes.all) await expectAll(nodes.clientOf(node), writers)
})

test('nodes over etcd accept a SecretID at most as often as allowed when the active node is killed', async () => {
  const { nodes } = await open()
  await expectUsesCounted(nodes, (node) => node.crash())
})

test('nodes over etcd acknowledge no write while etcd is down, and continue after its restart', async () => {
  const { etcd, nodes } = await open(['A', 'B'], { role_change_wait: '100ms' })
  const client = nodes.clientOf(await nodes.active())
  await client.call('PUT', 'kv/it', { body: { value: 1 } })
  await nodes.level()
  await etcd.kill()
  await until(async () => (await client.send('PUT', 'kv/it', { body: { value: 'lost' } })).status === 503)
  const codes = () => Promise.all(nodes.all.map((node) => node.health()))
  // The former active node serves reads from its copy only after it follows the log again.
  await until(async () => (await codes()).every((code) => code === 429 || code === 473))
  expect((await codes()).sort()).toEqual([429, 473])
  for (const node of nodes.all) {
    const answer = await nodes.clientOf(node).send('GET', 'kv/it')
    expect([answer.status, answer.json?.data]).toEqual(
      (await node.health()) === 473 ? [200, { value: 1 }] : [503, undefined],
    )
    expect((await nodes.clientOf(node).send('PUT', 'kv/it', { body: { value: 'lost' } })).status).toBe(503)
  }
  await etcd.run()
  const active = await nodes.active()
  await nodes.clientOf(active).call('PUT', 'kv/it', { body: { value: 2 } })
  expect((await nodes.clientOf(active).send('GET', 'kv/it')).json?.data).toEqual({ value: 2 })
})
