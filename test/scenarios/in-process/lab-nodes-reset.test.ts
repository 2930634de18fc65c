import { expect, it } from 'vitest'
import { type LabCluster, startLab } from '../../../src/index.js'
import { until } from '../../support/until.js'
import { wordOn } from '../../support/word-on.js'

const statesOf = async ({ nodes }: LabCluster) =>
  (await Promise.all(nodes.map((node) => node.status()))).map(({ state }) => state).sort()

const KV = { type: 'kv', options: { version: '1' } }

it('reset and snapshots restore a lab with nodes for any active or stopped nodes', async () => {
  await using lab = await startLab('pr-dr', { nodes: 3 })
  await lab.A.client.write('sys/mounts/kv', KV)
  await lab.A.client.write('kv/a', { word: 'kept' })
  await lab.converged()
  const kept = await lab.snapshot()
  await lab.A.client.write('kv/a', { word: 'later' })
  lab.clock.advance('1h')
  lab.link('A', 'C').partition()
  await lab.C.stepDown()
  await lab.A.crash()
  await lab.failover('A', 'B', { force: true })
  await lab.node('C3').stop()

  await lab.reset(kept)
  expect(lab.clock.skewMs).toBe(0)
  for (const cluster of lab.clusters) expect(await statesOf(cluster)).toEqual(['active', 'standby', 'standby'])
  expect(await wordOn(lab.A.client, 'kv/a')).toBe('kept')
  expect(await wordOn(lab.C.client, 'kv/a')).toBe('kept')
  await lab.A.client.write('kv/b', { word: 'after' })
  await until(async () => (await wordOn(lab.C.client, 'kv/b')) === 'after')
  await lab.healthy()

  await lab.reset()
  // Every node has the data by now, so any of them can become active at once.
  for (const cluster of lab.clusters) if (cluster.name !== 'B') await cluster.stepDown()
  expect(await wordOn(lab.A.client, 'kv/a')).toBeUndefined()
  await lab.A.client.write('sys/mounts/kv', KV)
  await lab.A.client.write('kv/c', { word: 'again' })
  await lab.converged()
  // The log of the nodes since then is valid: another node of each cluster continues from it.
  for (const cluster of lab.clusters) {
    await cluster.activeNode.crash()
    await cluster.active()
  }
  await lab.A.client.write('kv/d', { word: 'by another' })
  await until(async () => (await wordOn(lab.C.client, 'kv/d')) === 'by another')
  await lab.A.crash()
  await lab.failover('A', 'B', { force: true })
  expect(await wordOn(lab.B.client, 'kv/c')).toBe('again')
})

it('a snapshot restores sealed and stopped nodes and clears later faults of their servers', async () => {
  await using lab = await startLab('single', { nodes: 3 })
  await lab.A.client.write('sys/mounts/kv', KV)
  const [first, second] = lab.A.nodes.filter((node) => !node.isActive)
  if (!first || !second) throw new Error('there are two standbys')
  await first.seal()
  await second.stop()
  const kept = await lab.snapshot()
  await first.unseal()
  await second.start()
  for (const node of lab.A.nodes) {
    await node.anonymous.call('POST', '/_understudy/v1/clock', { body: { skew: '60s' } })
    await node.anonymous.call('POST', '/_understudy/v1/faults/disk', { body: { state: 'full' } })
  }

  await lab.reset(kept)
  expect([(await first.status()).state, (await second.status()).state]).toEqual(['sealed', 'stopped'])
  expect(lab.A.activeNode.isActive).toBe(true)
  await first.unseal()
  await second.start()
  for (const node of lab.A.nodes) {
    const faults = await node.anonymous.call('GET', '/_understudy/v1/faults')
    expect(faults).toMatchObject({ skew_ms: 0, disk: { state: 'ok' } })
  }
  await lab.A.client.write('kv/a', { word: 'open' })

  await lab.A.stop()
  await expect(lab.snapshot()).rejects.toThrow('cluster A has no active node')
  await lab.reset()
  expect(await statesOf(lab.A)).toEqual(['active', 'standby', 'standby'])
  expect(await wordOn(lab.A.client, 'kv/a')).toBeUndefined()
})
