import { afterEach, expect, test } from 'vitest'
import type { ApiAnswer, ApiClient } from '../../../../src/client/api-client.js'
import { type TestNode, TestNodes } from '../../../support/nodes.js'
import { until } from '../../../support/until.js'

/** The active node goes while clients write, and nothing that was acknowledged is gone or done twice. */

const ended: TestNodes[] = []
afterEach(async () => {
  for (const nodes of ended.splice(0)) await nodes.close()
})

/** After a crash the others wait so long. Where the machine stands still for longer, one more node takes over. */
const LEASE_MS = 2000

const open = async (leaseMs?: number, settings: Record<string, string> = {}) => {
  const nodes = await TestNodes.start(['A', 'B', 'C'], { settings, ...(leaseMs !== undefined && { leaseMs }) })
  ended.push(nodes)
  await nodes.open()
  const client = nodes.clientOf(await nodes.active())
  await client.call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
  await client.call('POST', 'sys/auth/approle', { body: { type: 'approle' } })
  return { nodes, client }
}

/** Writes one key after the other through all running nodes until it is told to stop; a failed write is tried no more. */
class Writers {
  readonly acknowledged = new Set<string>()
  readonly #nodes: TestNodes
  #isOver = false
  readonly #running: Promise<void>[] = []

  constructor(nodes: TestNodes) {
    this.#nodes = nodes
  }

  start(): void {
    for (const node of this.#nodes.all) this.#running.push(this.#write(node))
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#running)
  }

  async #write(node: TestNode): Promise<void> {
    const client = this.#nodes.clientOf(node)
    for (let turn = 0; !this.#isOver; turn++) {
      const key = `${node.name}-${turn}`
      const answer = await client.send('PUT', `kv/${key}`, { body: { value: key } }).catch(() => undefined)
      if (answer?.status === 204) this.acknowledged.add(key)
      else await until(() => node.server !== undefined || this.#isOver)
    }
  }
}

const more = (writers: Writers) => {
  const before = writers.acknowledged.size
  return until(() => writers.acknowledged.size >= before + 20)
}

const expectAll = async (client: ApiClient, { acknowledged }: Writers) => {
  const { keys } = ((await client.send('LIST', 'kv/')).json?.data ?? {}) as { keys: string[] }
  const there = new Set(keys)
  expect([...acknowledged].filter((key) => !there.has(key))).toEqual([])
  for (const key of [...acknowledged].slice(-10)) {
    expect((await client.send('GET', `kv/${key}`)).json?.data).toEqual({ value: key })
  }
}

const ENDS: readonly (readonly [string, (node: TestNode) => Promise<void>])[] = [
  ['is killed', (node) => node.crash()],
  ['is stopped', (node) => node.stop()],
  ['is cut off from the log', async (node) => node.shared?.link.cut()],
]

test.each(ENDS)('nothing acknowledged is lost when the active node %s', async (_, end) => {
  const { nodes } = await open(LEASE_MS)
  const writers = new Writers(nodes)
  writers.start()
  await more(writers)
  const first = await nodes.active()
  await end(first)
  const others = nodes.all.filter((node) => node !== first)
  const second = await nodes.active(others)
  await more(writers)
  if (!first.server) {
    await first.start()
    await until(async () => (await first.anonymous.read('sys/seal-status')).initialized === true)
    await nodes.unseal(first)
  } else first.shared?.link.heal()
  await until(async () => (await first.health()) === 429)
  await more(writers)
  await writers.stop()
  for (const node of [second, first]) await expectAll(nodes.clientOf(node), writers)
})

test('step-downs one after the other lose nothing, and a token that was made before is good on each', async () => {
  const { nodes, client } = await open()
  const { auth } = (await client.call('POST', 'auth/token/create', { body: { policies: ['default'] } })) as {
    auth: { client_token: string }
  }
  const writers = new Writers(nodes)
  writers.start()
  const seen = new Set<string>()
  while (seen.size < nodes.all.length) {
    await more(writers)
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

test('a limited SecretID is never used more often than it may be, whichever node is asked and whichever is active', async () => {
  const { nodes, client } = await open(LEASE_MS)
  const USES = 25
  const LOGIN = 'auth/approle/login'
  await client.call('POST', 'auth/approle/role/r', { body: { secret_id_num_uses: USES } })
  const { data: role } = (await client.read('auth/approle/role/r/role-id')) as { data: { role_id: string } }
  const made = (await client.call('POST', 'auth/approle/role/r/secret-id')) as { data: { secret_id: string } }
  const body = { role_id: role.role_id, secret_id: made.data.secret_id }
  let logins = 0
  let isSpent = false
  const logIn = async (node: TestNode): Promise<void> => {
    while (!isSpent && node.server) {
      const answer: ApiAnswer | undefined = await node.send('POST', LOGIN, { body }).catch(() => undefined)
      if (answer?.status === 200) logins++
      if (answer?.status === 400) isSpent = true
    }
  }
  const running = nodes.all.map((node) => logIn(node))
  await until(() => logins >= 5 || isSpent)
  const first = await nodes.active()
  await first.crash()
  await nodes.active(nodes.running)
  await Promise.all(running)
  expect(logins).toBeGreaterThanOrEqual(5)
  expect(logins).toBeLessThanOrEqual(USES)
  const again = await nodes.clientOf(await nodes.active()).send('POST', 'auth/approle/login', { body })
  expect(again.status).toBe(400)
})

test('caches of the new active node know what the former one has changed', async () => {
  const { nodes, client } = await open()
  const [a, b] = nodes.all as [TestNode, TestNode]
  const rules = (path: string) => ({ body: { policy: `path "kv/${path}" { capabilities = ["read"] }` } })
  await client.call('PUT', 'kv/one', { body: { value: 1 } })
  await client.call('PUT', 'kv/two', { body: { value: 2 } })
  await client.call('PUT', 'sys/policies/acl/p', rules('one'))
  const { auth } = (await client.call('POST', 'auth/token/create', { body: { policies: ['p'] } })) as {
    auth: { client_token: string }
  }
  const statuses = async (node: TestNode) =>
    Promise.all(
      ['one', 'two'].map(
        async (key) => (await nodes.clientOf(node, auth.client_token).send('GET', `kv/${key}`)).status,
      ),
    )
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

test('a node that is cut off from the log serves nothing that others may have changed since', async () => {
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
