import { hostname } from 'node:os'
import { expect, test } from 'vitest'
import { errorsOf } from '../../../../src/client/api-client.js'
import { type MemoryNode, startMemoryNodes } from '../../../support/memory-nodes.js'
import { until } from '../../../support/until.js'

/** Three servers in one process that are one cluster over a shared log in memory. */

const NAMES = ['A', 'B', 'C']

const open = async (names = NAMES, settings: Record<string, string> = {}) => {
  const nodes = await startMemoryNodes(names, { settings })
  await nodes.open()
  const [a, b, c] = nodes.all as [MemoryNode, MemoryNode, MemoryNode]
  return { nodes, a, b, c }
}

test('a cluster that one node has initialized is unsealed on every node with the same shares', async () => {
  const nodes = await startMemoryNodes(NAMES)
  for (const node of nodes.all) expect(await node.health()).toBe(501)
  await nodes.open()
  expect(await Promise.all(nodes.all.map((node) => node.health()))).toEqual([200, 473, 473])
  for (const node of nodes.all) {
    const again = await node.send('PUT', 'sys/init', { body: { secret_shares: 1, secret_threshold: 1 } })
    expect([again.status, errorsOf(again)]).toEqual([400, ['Vault is already initialized']])
  }
})

test('a standby reports its own state, the active node and all nodes', async () => {
  const { nodes, a, b } = await open()
  const health = await b.anonymous.send('GET', 'sys/health')
  expect(health.json).toMatchObject({ initialized: true, sealed: false, standby: true, performance_standby: true })
  expect((await b.send('GET', 'sys/health', { query: { perfstandbyok: 'true' } })).status).toBe(200)
  expect((await b.send('GET', 'sys/leader')).json).toMatchObject({
    ha_enabled: true,
    is_self: false,
    leader_address: a.address,
    leader_cluster_address: a.clusterAddress,
  })
  expect((await a.send('GET', 'sys/leader')).json).toMatchObject({ is_self: true, active_time: expect.any(String) })
  const status = (node: MemoryNode) => nodes.clientOf(node).read('sys/ha-status')
  const listed = ((await status(b)).data as { nodes: Record<string, unknown>[] }).nodes
  expect(
    listed.map(({ api_address, active_node, last_echo }) => [api_address, active_node, last_echo === null]),
  ).toEqual([
    [a.address, true, true],
    [b.address, false, false],
    [nodes.all[2]?.address, false, false],
  ])
  const cluster = async (node: MemoryNode) => (await node.anonymous.read('sys/seal-status')).cluster_id
  expect(await cluster(b)).toBe(await cluster(a))
})

test('a standby forwards writes, and permissions apply to the original client', async () => {
  const { nodes, a, b, c } = await open()
  const client = nodes.clientOf(b)
  await client.call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
  const written = await client.send('PUT', 'kv/it', { body: { value: 1 } })
  expect(written.status).toBe(204)
  expect((await nodes.clientOf(a).send('GET', 'kv/it')).json?.data).toEqual({ value: 1 })
  await nodes.level()
  expect((await nodes.clientOf(c).send('GET', 'kv/it')).json?.data).toEqual({ value: 1 })
  expect((await nodes.clientOf(c).send('LIST', 'kv/')).json?.data).toEqual({ keys: ['it'] })
  const wrapped = await nodes.clientOf(c).send('GET', 'kv/it', { headers: { 'X-Vault-Wrap-TTL': '60s' } })
  const token = (wrapped.json?.wrap_info as { token: string } | undefined)?.token ?? ''
  const unwrapped = await b.send('POST', 'sys/wrapping/unwrap', { token })
  expect(unwrapped.json?.data).toEqual({ value: 1 })
  const bad = await b.send('GET', 'kv/it', { token: 'unknown' })
  expect([bad.status, errorsOf(bad)]).toEqual([403, errorsOf(await a.send('GET', 'kv/it', { token: 'unknown' }))])
  const missing = await client.send('GET', 'kv/nothing')
  expect([missing.status, missing.json]).toEqual([404, { errors: [] }])
})

test('a standby accepts the same nesting depth and header length as the active node', async () => {
  const { nodes, a, b } = await open(['A', 'B'])
  await nodes.clientOf(a).call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
  const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])
  const body = { value: nested(299) }
  const headers = { 'X-Long': '\u00e9'.repeat(17_000) }
  for (const node of [a, b]) {
    expect((await nodes.clientOf(node).send('PUT', 'kv/it', { body, headers })).status).toBe(204)
    expect((await node.send('PUT', 'kv/it', { token: 'unknown', body })).status).toBe(403)
  }
  expect((await nodes.clientOf(b).send('GET', 'kv/it')).json?.data).toEqual(body)
})

test('CIDR blocks of a token apply to the client address when a standby forwards a login', async () => {
  const { nodes, b } = await open()
  const client = nodes.clientOf(b)
  await client.call('POST', 'sys/auth/approle', { body: { type: 'approle' } })
  const role = { token_bound_cidrs: ['10.0.0.0/8'], bind_secret_id: false, secret_id_bound_cidrs: [] }
  const made = await client.send('POST', 'auth/approle/role/far', { body: { ...role, bound_cidr_list: '10.0.0.0/8' } })
  expect(made.status, JSON.stringify(made.json)).toBe(204)
  const { data } = (await client.read('auth/approle/role/far/role-id')) as { data: { role_id: string } }
  const login = await b.send('POST', 'auth/approle/login', { body: { role_id: data.role_id } })
  expect(login.status).not.toBe(200)
})

test('a standby redirects a request with X-Vault-No-Request-Forwarding to the active node', async () => {
  const { nodes, a, b } = await open()
  const headers = { 'X-Vault-No-Request-Forwarding': 'true' }
  const answer = await nodes.clientOf(b).send('DELETE', 'kv/a b', { headers, query: { version: '2' } })
  expect([answer.status, answer.headers.location]).toEqual([307, `${a.address}/v1/kv/a%20b?version=2`])
  expect((await nodes.clientOf(a).send('GET', 'sys/mounts', { headers })).status).toBe(200)
  const snapshot = await nodes.clientOf(b).send('GET', 'sys/storage/raft/snapshot')
  expect([snapshot.status, snapshot.headers.location]).toEqual([307, `${a.address}/v1/sys/storage/raft/snapshot`])
})

test('a response names the node that the client called if the configuration enables the headers', async () => {
  const more = { enable_response_header_hostname: true, enable_response_header_raft_node_id: true }
  const nodes = await startMemoryNodes(['A', 'B'], { more: { ...more, storage: { raft: { path: '/nowhere' } } } })
  await nodes.open()
  for (const node of nodes.all) {
    for (const path of ['sys/health', 'sys/storage/raft/configuration', 'nothing']) {
      const { headers } = await nodes.clientOf(node).send('GET', path)
      expect([headers['x-vault-raft-node-id'], headers['x-vault-hostname']]).toEqual([node.name, hostname()])
    }
  }
  const { b } = await open(['A', 'B'])
  expect(Object.keys((await b.send('GET', 'sys/health')).headers).filter((name) => name.startsWith('x-vault'))).toEqual(
    [],
  )
})

test('sys/seal seals only the node that receives the request', async () => {
  const { nodes, a, b, c } = await open()
  const refused = await b.send('PUT', 'sys/seal', { token: 'unknown' })
  expect(refused.status).toBe(403)
  expect(await b.health()).toBe(473)
  expect((await nodes.clientOf(b).send('PUT', 'sys/seal')).status).toBe(204)
  expect(await Promise.all(nodes.all.map((node) => node.health()))).toEqual([200, 503, 473])
  const sealed = await nodes.clientOf(b).send('GET', 'sys/mounts')
  expect([sealed.status, errorsOf(sealed)]).toEqual([503, ['Vault is sealed']])
  await nodes.unseal(b)
  expect(await b.health()).toBe(473)
  expect((await nodes.clientOf(a).send('PUT', 'sys/seal')).status).toBe(204)
  expect(await a.health()).toBe(503)
  const active = await nodes.active([b, c])
  expect((await nodes.clientOf(active).send('GET', 'sys/mounts')).status).toBe(200)
  await nodes.unseal(a)
  expect(await a.health()).toBe(473)
})

test('an administrator of a child namespace cannot seal a node', async () => {
  const { nodes, a, b } = await open(['A', 'B'])
  const headers = { 'X-Vault-Namespace': 'ns1' }
  const client = nodes.clientOf(a)
  await client.call('PUT', 'sys/namespaces/ns1')
  const policy = 'path "*" { capabilities = ["create", "read", "update", "delete", "list", "sudo"] }'
  await client.call('PUT', 'sys/policies/acl/admin', { headers, body: { policy } })
  const made = await client.call('POST', 'auth/token/create', { headers, body: { policies: ['admin'] } })
  const token = (made.auth as { client_token: string }).client_token
  for (const node of [a, b]) {
    const answer = await node.send('PUT', 'sys/seal', { token, headers })
    expect([answer.status, errorsOf(answer)]).toEqual([400, ['operation unavailable in namespaces']])
  }
  expect(await Promise.all([a.health(), b.health()])).toEqual([200, 473])
})

test('after sys/step-down another node is active, and the former active node is a standby', async () => {
  const { nodes, a, b, c } = await open()
  await nodes.clientOf(a).call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
  await nodes.clientOf(a).call('PUT', 'kv/it', { body: { value: 1 } })
  expect((await nodes.clientOf(b).send('PUT', 'sys/step-down')).status).toBe(204)
  const active = await nodes.active([b, c])
  expect(await a.health()).toBe(473)
  expect((await nodes.clientOf(active).send('GET', 'kv/it')).json?.data).toEqual({ value: 1 })
  await until(async () => (await a.send('GET', 'sys/leader')).json?.leader_address === active.address)
  expect((await nodes.clientOf(a).send('PUT', 'kv/it', { body: { value: 2 } })).status).toBe(204)
  expect((await nodes.clientOf(active).send('GET', 'kv/it')).json?.data).toEqual({ value: 2 })
})

test('a standby rejects writes with the reason while there is no active node', async () => {
  const { nodes, a, b } = await open(['A', 'B'], { role_change_wait: '0', step_down_rest: '1h' })
  for (const node of [a, b]) {
    expect(await nodes.active()).toBe(node)
    expect((await nodes.clientOf(node).send('PUT', 'sys/step-down')).status).toBe(204)
  }
  for (const node of [a, b]) {
    await until(async () => (await node.send('GET', 'sys/leader')).json?.leader_address === undefined)
    expect(await node.health()).toBe(473)
    expect((await nodes.clientOf(node).send('GET', 'sys/mounts')).status).toBe(200)
    const answer = await nodes.clientOf(node).send('PUT', 'sys/mounts/kv', { body: { type: 'kv' } })
    const texts = ['local node not active but active cluster node not found']
    expect([answer.status, errorsOf(answer)]).toEqual([503, texts])
  }
})

test('auto-unseal unseals each node, including nodes that started before the cluster was initialized', async () => {
  const key = Buffer.alloc(32, 7).toString('hex')
  const nodes = await startMemoryNodes(NAMES, { more: { seal: { static: { current_key_id: 'k', current_key: key } } } })
  const [a, b, c] = nodes.all as [MemoryNode, MemoryNode, MemoryNode]
  const body = { recovery_shares: 1, recovery_threshold: 1 }
  const made = await b.anonymous.call('PUT', 'sys/init', { body })
  nodes.rootToken = String(made.root_token)
  const first = await nodes.active()
  for (const node of nodes.all) await until(async () => [200, 473].includes(await node.health()))
  expect((await nodes.clientOf(a).send('GET', 'sys/mounts')).status).toBe(200)
  await first.stop()
  await nodes.active(nodes.running)
  await first.start()
  await until(async () => (await first.health()) === 473)
  expect((await nodes.clientOf(c).send('GET', 'sys/mounts')).status).toBe(200)
})
