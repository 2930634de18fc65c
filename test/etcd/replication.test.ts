import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { startEtcd } from '../support/etcd.js'
import { type NodeProcess, nodeProcesses } from '../support/node-processes.js'
import { expectStreamedAlone, joinNodes, level } from '../support/node-replication.js'
import { expectAll, Writers } from '../support/node-writers.js'
import type { TestNodes } from '../support/nodes.js'
import { findInBytes, findInFiles, storedWindows } from '../support/stored-bytes.js'
import { until } from '../support/until.js'

/** Clusters in separate processes that replicate while their active nodes are killed. */

const SETTINGS = { heartbeat_interval: '200ms', backoff_initial: '50ms', backoff_max: '500ms' }

const start = async (names: readonly string[], etcdAddress: string | undefined): Promise<TestNodes<NodeProcess>> => {
  const nodes = await nodeProcesses(names, etcdAddress, SETTINGS)
  await Promise.all(nodes.all.map((node) => node.start()))
  await nodes.open()
  return nodes
}

const startShared = async (names: readonly string[]): Promise<TestNodes<NodeProcess>> => {
  const etcd = await startEtcd()
  return start(names, etcd.address)
}

const KINDS = ['dr', 'performance'] as const

test.each(KINDS)('a %s secondary follows the new active node of its primary without a comparison', async (kind) => {
  const primary = await startShared(['A', 'B', 'C'])
  const secondary = await start(['S'], undefined)
  await primary.clientOf(await primary.active()).call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
  await joinNodes(primary, secondary, kind)
  const writers = new Writers(primary)
  for (let turn = 0; turn < 2; turn++) {
    await writers.more()
    const killed = await primary.active()
    await killed.crash()
    const next = await primary.active()
    expect(next).not.toBe(killed)
    await writers.more()
    await level(primary, secondary, kind)
    await expectStreamedAlone(next, primary)
    await killed.start()
    await primary.unseal(killed)
  }
  await writers.stop()
  await level(primary, secondary, kind)
  await expectAll(primary.clientOf(await primary.active()), writers)
})

test.each(KINDS)(
  'a %s secondary of three nodes catches up after kills of active nodes in both clusters',
  async (kind) => {
    const primary = await startShared(['A', 'B', 'C'])
    const secondary = await startShared(['S', 'T', 'U'])
    await primary.clientOf(await primary.active()).call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
    await joinNodes(primary, secondary, kind)
    const writers = new Writers(primary)
    for (const side of [secondary, primary, secondary]) {
      await writers.more()
      const killed = await servingOf(side)
      await killed.crash()
      await writers.more()
      expect(await servingOf(side)).not.toBe(killed)
      await killed.start()
      await side.unseal(killed)
    }
    await writers.stop()
    await level(primary, secondary, kind)
    await expectAll(primary.clientOf(await primary.active()), writers)
  },
)

test('no directory and no etcd file of a secondary with several nodes contains data from before it joined', async () => {
  const etcd = await startEtcd()
  const secondary = await start(['S', 'T'], etcd.address)
  const client = secondary.clientOf(await secondary.active())
  await client.call('POST', 'sys/mounts/old', { body: { type: 'kv' } })
  await client.call('PUT', 'old/it', { body: { value: 'x'.repeat(200) } })
  const [s, t] = secondary.all as [NodeProcess, NodeProcess]
  await t.stop()
  const needles = await storedWindows(t.copyDirectory)
  expect(needles.size).toBeGreaterThan(5)
  expect(findInBytes(readFileSync(etcd.databaseFile), needles).length).toBeGreaterThan(0)
  await t.start()
  await secondary.unseal(t)
  const primary = await start(['P'], undefined)
  await joinNodes(primary, secondary, 'dr')
  for (const node of [s, t]) expect([...findInFiles(node.copyDirectory, needles)], node.name).toEqual([])
  expect(findInBytes(readFileSync(etcd.databaseFile), needles)).toEqual([])
})

const servingOf = async (nodes: TestNodes<NodeProcess>): Promise<NodeProcess> => {
  await until(async () => (await nodes.serving()) !== undefined)
  const node = await nodes.serving()
  return node ?? servingOf(nodes)
}
