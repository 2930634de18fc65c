import { expect, test } from 'vitest'
import type { Kind } from '../../../../src/lab/model/kinds.js'
import {
  generateOperationToken,
  generateRoot,
  secondaryToken,
  statusOf,
} from '../../../../src/lab/requests/replication.js'
import { type MemoryNode, startLoneNode, startMemoryNodes } from '../../../support/memory-nodes.js'
import { counted, joinNodes, level } from '../../../support/node-replication.js'
import { expectAll, Writers } from '../../../support/node-writers.js'
import { until } from '../../../support/until.js'

/** A secondary with several nodes. */

const KINDS = ['dr', 'performance'] as const
const SETTINGS = { heartbeat_interval: '100ms', backoff_initial: '20ms', backoff_max: '200ms' }

const open = async (kind: Kind, leaseMs?: number) => {
  const options = { settings: SETTINGS, ...(leaseMs !== undefined && { leaseMs }) }
  const primary = await startLoneNode('P', options)
  await primary.open()
  const secondary = await startMemoryNodes(['S', 'T', 'U'], options)
  await secondary.open()
  await secondary.clientOf(await secondary.active()).call('POST', 'sys/mounts/old', { body: { type: 'kv' } })
  await primary.clientOf(await primary.active()).call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
  await joinNodes(primary, secondary, kind)
  return { primary, secondary, above: primary.clientOf(await primary.active()) }
}

test.each(KINDS)(
  'a %s secondary keeps its active node, and the other nodes need the shares of the primary',
  async (kind) => {
    const { primary, secondary, above } = await open(kind)
    expect(await Promise.all(secondary.all.map((node) => node.health()))).toEqual(
      kind === 'dr' ? [472, 472, 472] : [200, 473, 473],
    )
    const shown = await Promise.all(secondary.all.map((node) => node.send('GET', 'sys/health')))
    expect(
      shown.map(({ json }) => [json?.standby, json?.performance_standby, json?.[`replication_${kind}_mode`]]),
    ).toEqual([
      [false, false, 'secondary'],
      [true, kind === 'performance', 'secondary'],
      [true, kind === 'performance', 'secondary'],
    ])
    const [active, standby] = secondary.all as [MemoryNode, MemoryNode]
    const leader = (await standby.send('GET', 'sys/leader')).json
    expect(leader).toMatchObject({ is_self: false, leader_address: active.address })
    expect(await statusOf(standby.anonymous, kind)).toMatchObject({ mode: 'secondary' })
    await above.call('PUT', 'kv/it', { body: { value: 1 } })
    await level(primary, secondary, kind)
    if (kind === 'dr') {
      const { status, json } = await standby.send('GET', 'kv/it')
      expect([status, json?.errors]).toEqual([400, ['path disabled in replication DR secondary mode']])
    }
    const { secondaries } = (await statusOf(above, kind)) as { secondaries: { cluster_address: string }[] }
    expect(secondaries.map(({ cluster_address }) => cluster_address)).toEqual([secondary.all[0]?.clusterAddress])
  },
)

test.each(KINDS)('a %s secondary continues without a comparison after its active node is killed', async (kind) => {
  const { primary, secondary } = await open(kind, 2000)
  const writers = new Writers(primary)
  await writers.more()
  const [node] = primary.all as [MemoryNode]
  const before = await counted(node, primary, '.conflicting_pages_request')
  const first = await secondary.serving()
  await first?.crash()
  await writers.more()
  await until(async () => (await secondary.serving()) !== undefined)
  await writers.more()
  await first?.start()
  if (first) await secondary.unseal(first)
  await writers.stop()
  await level(primary, secondary, kind)
  expect(await counted(node, primary, '.conflicting_pages_request')).toBe(before)
})

test('a DR secondary with several nodes is promoted, and another node is the primary after a step-down', async () => {
  const { primary, secondary, above } = await open('dr')
  await above.call('PUT', 'kv/it', { body: { value: 1 } })
  await level(primary, secondary, 'dr')
  await above.call('POST', 'sys/replication/dr/primary/demote', {})
  const active = await secondary.serving()
  if (!active) throw new Error('none')
  const call = (path: string, body: Readonly<Record<string, string>> = {}) => active.anonymous.write(path, body)
  const token = await generateOperationToken(call, primary.keys)
  await active.anonymous.call('POST', 'sys/replication/dr/secondary/promote', { body: { dr_operation_token: token } })
  secondary.rootToken = primary.rootToken
  expect(await secondary.active()).toBe(active)
  const client = secondary.clientOf(active)
  await until(async () => (await client.send('PUT', 'kv/it', { body: { value: 2 } })).status === 204)
  await client.call('PUT', 'sys/step-down')
  const next = await secondary.active(secondary.without(active))
  expect((await secondary.clientOf(next).send('GET', 'kv/it')).json?.data).toEqual({ value: 2 })
  expect(await statusOf(secondary.clientOf(next), 'dr')).toMatchObject({ mode: 'primary' })
})

test('filtered data is destroyed on every node of a performance secondary', async () => {
  const { primary, secondary, above } = await open('performance')
  await above.call('PUT', 'kv/it', { body: { value: 1 } })
  await level(primary, secondary, 'performance')
  const active = await secondary.active()
  const token = await generateRoot(active.anonymous, primary.keys)
  secondary.rootToken = token
  const generations = secondary.all.map((node) => node.storageGeneration)
  const body = { mode: 'deny', paths: ['kv/'] }
  await above.call('POST', 'sys/replication/performance/primary/paths-filter/second', { body })
  await until(async () => secondary.all.every((node, at) => node.storageGeneration > (generations[at] ?? 0)))
  await until(async () => (await secondary.clientOf(active).send('GET', 'kv/it')).status === 404)
  await level(primary, secondary, 'performance')
  for (const node of secondary.all) await until(async () => [200, 473].includes(await node.health()))
  const before = secondary.all.map((node) => node.storageGeneration)
  await above.call('DELETE', 'sys/replication/performance/primary/paths-filter/second')
  await level(primary, secondary, 'performance')
  await until(async () => (await secondary.clientOf(active).send('GET', 'kv/it')).status === 200)
  expect(secondary.all.map((node) => node.storageGeneration)).toEqual(before)
})

test('a performance secondary with several nodes accepts writes after its role is disabled', async () => {
  const { primary, secondary, above } = await open('performance')
  await above.call('PUT', 'kv/it', { body: { value: 1 } })
  await level(primary, secondary, 'performance')
  const active = await secondary.active()
  secondary.rootToken = await generateRoot(active.anonymous, primary.keys)
  await secondary.clientOf(active).call('POST', 'sys/replication/performance/secondary/disable', {})
  await until(
    async () => (await statusOf(secondary.clientOf(active), 'performance').catch(() => undefined))?.mode === 'disabled',
  )
  const writers = new Writers(secondary)
  await writers.more()
  await writers.stop()
  await expectAll(secondary.clientOf(await secondary.active()), writers)
})

test('a demoted primary with several nodes follows its successor on each node', async () => {
  const options = { settings: SETTINGS }
  const first = await startMemoryNodes(['A', 'B', 'C'], options)
  await first.open()
  const second = await startLoneNode('S', options)
  await second.open()
  const above = first.clientOf(await first.active())
  await above.call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
  await joinNodes(first, second, 'performance')
  const below = await second.active()
  second.rootToken = await generateRoot(below.anonymous, first.keys)
  await above.call('POST', 'sys/replication/performance/primary/demote', {})
  const client = second.clientOf(below)
  await client.call('POST', 'sys/replication/performance/secondary/promote', {})
  await until(async () => (await statusOf(client, 'performance').catch(() => undefined))?.mode === 'primary')
  const token = await secondaryToken(client, 'performance', 'back')
  await above.call('POST', 'sys/replication/performance/secondary/update-primary', { body: { token } })
  await level(second, first, 'performance')
  await client.call('PUT', 'kv/it', { body: { value: 1 } })
  await level(second, first, 'performance')
  await above.call('PUT', 'sys/step-down')
  const next = await first.active(first.without(first.all[0] as MemoryNode))
  await client.call('PUT', 'kv/it', { body: { value: 2 } })
  await level(second, first, 'performance')
  expect((await first.clientOf(next).send('GET', 'kv/it')).json?.data).toEqual({ value: 2 })
  expect((await first.clientOf(next).send('PUT', 'kv/it', { body: { value: 3 } })).status).toBe(204)
  expect((await client.send('GET', 'kv/it')).json?.data).toEqual({ value: 3 })
  expect(first.all.map((node) => node.storageGeneration)).toEqual([1, 1, 1])
})
