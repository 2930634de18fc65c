import { expect, test } from 'vitest'
import { type MemoryNode, startMemoryNodes } from '../../../support/memory-nodes.js'
import { expectAll, expectUsesCounted, Writers } from '../../../support/node-writers.js'
import { until } from '../../../support/until.js'

/** Failovers under load: no acknowledged write is lost or executed twice. */

/** Time until another node takes over after a crash. If the machine stops for longer, another failover happens. */
const LEASE_MS = 2000

const open = async (leaseMs?: number, settings: Record<string, string> = {}) => {
  const nodes = await startMemoryNodes(['A', 'B', 'C'], { settings, ...(leaseMs !== undefined && { leaseMs }) })
  await nodes.open()
  const client = nodes.clientOf(await nodes.active())
  await client.call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
  return { nodes, client }
}

const ENDS: readonly (readonly [string, (node: MemoryNode) => Promise<void>])[] = [
  ['is killed', (node) => node.crash()],
  ['is stopped', (node) => node.stop()],
  ['is cut off from the log', async (node) => node.shared?.link.cut()],
]

test.each(ENDS)('no acknowledged write is lost when the active node %s', async (_, end) => {
  const { nodes } = await open(LEASE_MS)
  const writers = new Writers(nodes)
  await writers.more()
  const first = await nodes.active()
  await end(first)
  const others = nodes.all.filter((node) => node !== first)
  const second = await nodes.active(others)
  await writers.more()
  if (!first.isRunning) {
    await first.start()
    await nodes.unseal(first)
  } else first.shared?.link.heal()
  await until(async () => (await first.health()) === 473)
  await writers.more()
  await writers.stop()
  await nodes.level()
  for (const node of [second, first]) await expectAll(nodes.clientOf(node), writers)
})

test('consecutive step-downs lose no write, and an existing token is valid on every active node', async () => {
  const { nodes, client } = await open()
  const { auth } = (await client.call('POST', 'auth/token/create', { body: { policies: ['default'] } })) as {
    auth: { client_token: string }
  }
  const writers = new Writers(nodes)
  const seen = new Set<string>()
  while (seen.size < nodes.all.length) {
    await writers.more()
    const active = await nodes.active()
    seen.add(active.name)
    const looked = await nodes.clientOf(active, auth.client_token).send('GET', 'auth/token/lookup-self')
    expect(looked.status).toBe(200)
    expect((await nodes.clientOf(active).send('PUT', 'sys/step-down')).status).toBe(204)
    await nodes.active(nodes.all.filter((node) => node !== active))
  }
  await writers.stop()
  await expectAll(nodes.clientOf(await nodes.active()), writers)
})

test('nodes accept a SecretID at most as often as allowed across a failover', async () => {
  const { nodes } = await open(LEASE_MS)
  await expectUsesCounted(nodes, (node) => node.crash())
})

test('a new active node has no outdated caches', async () => {
  const { nodes, client } = await open()
  const [a, b] = nodes.all as [MemoryNode, MemoryNode]
  const rules = (path: string) => ({ body: { policy: `path "kv/${path}" { capabilities = ["read"] }` } })
  await client.call('PUT', 'kv/one', { body: { value: 1 } })
  await client.call('PUT', 'kv/two', { body: { value: 2 } })
  await client.call('PUT', 'sys/policies/acl/p', rules('one'))
  const { auth } = (await client.call('POST', 'auth/token/create', { body: { policies: ['p'] } })) as {
    auth: { client_token: string }
  }
  const statuses = async (node: MemoryNode) =>
    Promise.all(
      ['one', 'two'].map(
        async (key) => (await nodes.clientOf(node, auth.client_token).send('GET', `kv/${key}`)).status,
      ),
    )
  await nodes.level()
  expect(await statuses(b)).toEqual([200, 403])
  await client.call('PUT', 'sys/step-down')
  const second = await nodes.active(nodes.all.filter((node) => node !== a))
  await nodes.clientOf(second).call('PUT', 'sys/policies/acl/p', rules('two'))
  await nodes.clientOf(second).call('POST', 'sys/rotate')
  expect(await statuses(second)).toEqual([403, 200])
  await second.stop()
  const third = await nodes.active(nodes.running)
  expect(await statuses(third)).toEqual([403, 200])
  expect((await nodes.clientOf(third).send('GET', 'kv/two')).json?.data).toEqual({ value: 2 })
})

test('a node that is cut off from the shared log serves no reads and no writes', async () => {
  const { nodes, client } = await open(LEASE_MS, { role_change_wait: '0' })
  await client.call('PUT', 'kv/it', { body: { value: 'old' } })
  const first = await nodes.active()
  first.shared?.link.cut()
  const second = await nodes.active(nodes.all.filter((node) => node !== first))
  await nodes.clientOf(second).call('PUT', 'kv/it', { body: { value: 'new' } })
  for (const [method, path] of [
    ['GET', 'kv/it'],
    ['LIST', 'kv/'],
    ['GET', 'sys/mounts'],
    ['PUT', 'sys/capabilities-self'],
  ] as const) {
    expect((await nodes.clientOf(first).send(method, path)).status, path).toBe(503)
  }
  expect((await nodes.clientOf(first).send('PUT', 'kv/it', { body: { value: 'lost' } })).status).toBe(503)
  first.shared?.link.heal()
  await until(async () => (await nodes.clientOf(first).send('GET', 'kv/it')).status === 200)
  expect((await nodes.clientOf(first).send('GET', 'kv/it')).json?.data).toEqual({ value: 'new' })
})
