import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { type Clock, systemClock } from '../../../../src/base/clock.js'
import { type Log, silentLog } from '../../../../src/base/log.js'
import { OWN_KEYS } from '../../../../src/server/config/tables.js'
import { type ApiAnswer, type ApiClient, errorsOf } from '../../../../src/client/api-client.js'
import type { RemotePosition } from '../../../../src/storage/keys/replicable.js'
import { generateRoot } from '../../../../src/lab/requests/replication.js'
import { type MemoryNode, startLoneNode, startMemoryNodes } from '../../../support/memory-nodes.js'
import { joinNodes, level } from '../../../support/node-replication.js'
import { until } from '../../../support/until.js'

/** Requests that a performance standby answers from its own copy, and requests that it forwards. */

const directories: string[] = []
afterEach(async () => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true })
})

/** Short waits for missing data, and no other node becomes active. */
const IMPATIENT = {
  settings: { role_change_wait: '0' },
  more: { replication: { best_effort_wal_wait_duration: '100ms' } },
}

const open = async (options: Parameters<typeof startMemoryNodes>[1] = IMPATIENT) => {
  const nodes = await startMemoryNodes(['A', 'B', 'C'], options)
  await nodes.open()
  const [a, b, c] = nodes.all as [MemoryNode, MemoryNode, MemoryNode]
  await nodes.clientOf(a).call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
  await nodes.clientOf(a).call('PUT', 'kv/it', { body: { value: 'first' } })
  await nodes.level()
  return { nodes, a, b, c, above: nodes.clientOf(a), below: nodes.clientOf(b) }
}

const readingOf = ({ json }: ApiAnswer): unknown => (json?.data as { value?: unknown } | null | undefined)?.value
const tokenOf = ({ auth }: { auth?: unknown }): string => (auth as { client_token: string }).client_token
const put = (value: string) => ({ body: { value } })

test('performance standbys serve reads while there is no active node, and reject writes with the reason', async () => {
  const { nodes, a, b, c, above } = await open()
  const policy = 'path "kv/*" { capabilities = ["read"] }'
  await above.call('PUT', 'sys/policies/acl/reader', { body: { policy } })
  const made = await above.call('POST', 'auth/token/create', { body: { policies: ['reader'] } })
  await nodes.level()
  await a.crash()
  for (const node of [b, c]) {
    expect(await node.health()).toBe(473)
    const token = tokenOf(made)
    expect(readingOf(await node.send('GET', 'kv/it', { token }))).toBe('first')
    expect((await node.send('GET', 'kv/it', { token: 'unknown' })).status).toBe(403)
    expect((await node.send('GET', 'kv/other', { token })).status).toBe(404)
    expect((await node.send('GET', 'auth/token/lookup-self', { token })).status).toBe(200)
    expect(
      (await node.send('POST', 'sys/capabilities-self', { token, body: { paths: ['kv/it'] } })).json?.data,
    ).toEqual(expect.objectContaining({ 'kv/it': ['read'] }))
    const refused = await nodes.clientOf(node).send('PUT', 'kv/it', put('second'))
    expect([refused.status, errorsOf(refused)[0]]).toEqual([
      503,
      expect.stringContaining('the active node of the cluster is unreachable'),
    ])
  }
})

test('a write through a performance standby is readable there at once', async () => {
  const { b, below } = await open({})
  for (let turn = 0; turn < 30; turn++) {
    expect((await below.send('PUT', 'kv/it', put(`${turn}`))).status).toBe(204)
    expect(readingOf(await below.send('GET', 'kv/it'))).toBe(`${turn}`)
  }
  await below.call('POST', 'sys/mounts/new', { body: { type: 'kv' } })
  expect(await below.send('GET', 'sys/mounts/new')).toMatchObject({ status: 200 })
  await below.call('PUT', 'new/it', put('new'))
  const token = tokenOf(await below.call('POST', 'auth/token/create', { body: { policies: ['own'] } }))
  const policy = (capability: string) => ({ body: { policy: `path "new/it" { capabilities = ["${capability}"] }` } })
  const statuses: number[] = []
  for (const capability of ['read', 'update', 'read']) {
    await below.call('PUT', 'sys/policies/acl/own', policy(capability))
    statuses.push((await b.send('GET', 'new/it', { token })).status)
  }
  await below.call('DELETE', 'sys/mounts/new')
  statuses.push((await below.send('GET', 'new/it')).status)
  expect((await b.send('GET', 'auth/token/lookup-self', { token })).status).toBe(200)
  await b.send('POST', 'auth/token/revoke-self', { token })
  statuses.push((await b.send('GET', 'auth/token/lookup-self', { token })).status)
  expect(statuses).toEqual([200, 403, 200, 404, 403])
})

test('a performance standby applies the CORS rules of its cluster', async () => {
  const { nodes, below } = await open({})
  const ask = (origin: string) => below.send('GET', 'sys/mounts', { headers: { Origin: origin } })
  expect((await ask('https://foreign.test')).status).toBe(200)
  await below.call('POST', 'sys/config/cors', { body: { allowed_origins: 'https://page.test' } })
  await nodes.level()
  expect(await ask('https://page.test')).toMatchObject({
    status: 200,
    headers: { 'access-control-allow-origin': 'https://page.test' },
  })
  expect((await ask('https://foreign.test')).status).toBe(403)
})

test('a lagging performance standby serves old data, rejects a required index, and forwards on request', async () => {
  const { b, above, below } = await open()
  b.shared?.link.cut()
  const written = await above.send('PUT', 'kv/it', put('second'))
  const index = { 'X-Vault-Index': String(written.headers['x-vault-index']) }
  const read = (headers: Record<string, string>) => below.send('GET', 'kv/it', { headers })
  expect(readingOf(await read({}))).toBe('first')
  const refused = await read(index)
  expect([refused.status, errorsOf(refused)]).toEqual([412, ['required index state not present']])
  expect((await read({ ...index, 'X-Vault-Inconsistent': 'await-state' })).status).toBe(412)
  expect((await read({ ...index, 'X-Vault-Inconsistent': 'forward-active-node' })).status).toBe(400)
  expect(readingOf(await read({ 'X-Vault-Forward': 'active-node' }))).toBe('second')
  const late = await below.send('PUT', 'kv/it', put('third'))
  expect(late.status).toBe(204)
  expect((await read({ 'X-Vault-Index': String(late.headers['x-vault-index']) })).status).toBe(412)
  const token = tokenOf(await above.call('POST', 'auth/token/create', { body: { policies: ['default'] } }))
  expect((await b.send('GET', 'auth/token/lookup-self', { token })).status).toBe(412)
  b.shared?.link.heal()
  await until(async () => (await read(index)).status === 200)
  await until(async () => (await b.send('GET', 'auth/token/lookup-self', { token })).status === 200)
  expect(readingOf(await read({}))).toBe('third')
})

test('a performance standby forwards a read with a missing index if allow_forwarding_via_header is set', async () => {
  const replication = { best_effort_wal_wait_duration: '100ms', allow_forwarding_via_header: true }
  const { b, above, below } = await open({ ...IMPATIENT, more: { replication } })
  b.shared?.link.cut()
  const written = await above.send('PUT', 'kv/it', put('second'))
  const headers = {
    'X-Vault-Index': String(written.headers['x-vault-index']),
    'X-Vault-Inconsistent': 'forward-active-node',
  }
  expect(readingOf(await below.send('GET', 'kv/it', { headers }))).toBe('second')
  b.shared?.link.heal()
})

test('uses of tokens and SecretIDs are counted across all nodes', async () => {
  const { nodes, a, b, c, above } = await open()
  const token = tokenOf(await above.call('POST', 'auth/token/create', { body: { num_uses: 3 } }))
  await nodes.level()
  const statuses: number[] = []
  for (const node of [b, c, b, c, a])
    statuses.push((await node.send('GET', 'auth/token/lookup-self', { token })).status)
  expect(statuses).toEqual([200, 200, 200, 403, 403])
  await above.call('POST', 'sys/auth/approle', { body: { type: 'approle' } })
  const role = { secret_id_num_uses: 2, token_type: 'batch' }
  await above.call('POST', 'auth/approle/role/web', { body: role })
  const { data: id } = (await above.read('auth/approle/role/web/role-id')) as { data: { role_id: string } }
  const { data } = (await above.call('POST', 'auth/approle/role/web/secret-id')) as { data: { secret_id: string } }
  await nodes.level()
  const login = (node: MemoryNode) =>
    node.send('POST', 'auth/approle/login', { body: { role_id: id.role_id, secret_id: data.secret_id } })
  const logins: number[] = []
  for (const node of [b, c, b, a]) logins.push((await login(node)).status)
  expect(logins).toEqual([200, 200, 400, 400])
})

test('a performance standby serves requests with batch tokens that store nothing without an active node', async () => {
  const { nodes, a, b, above } = await open()
  await above.call('POST', 'sys/auth/approle', { body: { type: 'approle' } })
  const policy = 'path "kv/*" { capabilities = ["read"] }'
  await above.call('PUT', 'sys/policies/acl/reader', { body: { policy } })
  for (const token_type of ['batch', 'service']) {
    const body = { token_type, bind_secret_id: true, token_policies: ['reader'] }
    await above.call('POST', `auth/approle/role/${token_type}`, { body })
  }
  const credentials = async (role: string) => {
    const { data: id } = (await above.read(`auth/approle/role/${role}/role-id`)) as { data: object }
    const { data } = (await above.call('POST', `auth/approle/role/${role}/secret-id`)) as { data: object }
    const body = { ...id, secret_id: (data as { secret_id: string }).secret_id }
    // The first login creates the entity.
    await above.call('POST', 'auth/approle/login', { body })
    return { body }
  }
  const batch = await credentials('batch')
  const service = await credentials('service')
  await nodes.level()
  const login = await b.send('POST', 'auth/approle/login', batch)
  expect(login.status, JSON.stringify(login.json)).toBe(200)
  await a.crash()
  expect(readingOf(await b.send('GET', 'kv/it', { token: tokenOf(login.json ?? {}) }))).toBe('first')
  for (const body of [batch, service]) expect((await b.send('POST', 'auth/approle/login', body)).status).toBe(503)
  const create = (type: string) =>
    nodes.clientOf(b).send('POST', 'auth/token/create', { body: { type, policies: ['reader'] } })
  expect([(await create('batch')).status, (await create('service')).status]).toEqual([200, 503])
})

test('a request is audited once, by the node that answers it', async () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'understudy-audit-'))
  directories.push(directory)
  const file = path.join(directory, 'audit.log')
  const { nodes, above, below } = await open()
  await above.call('PUT', 'sys/audit/file', { body: { type: 'file', options: { file_path: file } } })
  await nodes.level()
  const recorded = async (run: () => Promise<ApiAnswer>) => {
    const before = readFileSync(file, 'utf8').length
    const { json } = await run()
    const lines = readFileSync(file, 'utf8').slice(before).trim().split('\n')
    const entries = lines.map((line) => JSON.parse(line) as { type: string; request: { id: string; path: string } })
    for (const { request } of entries) if (json?.request_id) expect(request.id).toBe(json.request_id)
    return entries.map(({ type, request }) => `${type} ${request.path}`)
  }
  const whole = ['request kv/it', 'response kv/it']
  expect(await recorded(() => below.send('GET', 'kv/it'))).toEqual(whole)
  expect(await recorded(() => below.send('PUT', 'kv/it', put('second')))).toEqual(whole)
  expect(await recorded(() => below.send('GET', 'kv/it', { headers: { 'X-Vault-Wrap-TTL': '60s' } }))).toEqual(whole)
  const batch = await recorded(() =>
    below.send('POST', 'auth/token/create', { body: { type: 'batch', policies: ['default'] } }),
  )
  expect(batch).toEqual(['request auth/token/create', 'response auth/token/create'])
})

test('a performance standby does not answer a read that it cannot audit', async () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'understudy-audit-'))
  directories.push(directory)
  const { nodes, above, below } = await open()
  const options = { file_path: path.join(directory, 'below', 'audit.log') }
  await above.call('PUT', 'sys/audit/file', { body: { type: 'file', options } })
  await nodes.level()
  rmSync(path.join(directory, 'below'), { recursive: true })
  writeFileSync(path.join(directory, 'below'), 'no directory any more')
  expect((await below.send('GET', 'kv/it')).status).toBe(500)
})

test.each([
  ['disable_performance_standby', { disable_performance_standby: true }, {}],
  ['the license plus', {}, { license: 'plus' }],
  ['no license', {}, { license: 'none' }],
] as const)('a standby forwards every request with %s', async (_, more, settings) => {
  const { a, b, below } = await open({ more, settings: { ...IMPATIENT.settings, ...settings } })
  expect(await b.health()).toBe(429)
  expect((await b.send('GET', 'sys/leader')).json).toMatchObject({ performance_standby: false })
  expect(readingOf(await below.send('GET', 'kv/it'))).toBe('first')
  await a.crash()
  expect((await below.send('GET', 'kv/it')).status).toBe(503)
})

test('a performance standby reports its state, becomes active, and becomes a standby again', async () => {
  const { nodes, a, b, c, above } = await open({})
  const leader = (await b.send('GET', 'sys/leader')).json
  const { last_wal } = (await a.anonymous.read('sys/leader')) as { last_wal: number }
  expect(leader).toMatchObject({ performance_standby: true, performance_standby_last_remote_wal: last_wal })
  const gauges = async (node: MemoryNode) => {
    const { Gauges } = (await nodes.clientOf(node).read('sys/metrics')) as { Gauges: { Name: string; Value: number }[] }
    const wanted = ['vault.core.active', 'vault.core.performance_standby', 'vault.core.unsealed']
    return wanted.map((name) => Gauges.find(({ Name }) => Name === name)?.Value)
  }
  expect([await gauges(a), await gauges(b)]).toEqual([
    [1, 0, 1],
    [0, 1, 1],
  ])
  await above.call('PUT', 'sys/step-down')
  const next = await nodes.active([b, c])
  await until(async () => (await a.health()) === 473)
  expect((await nodes.clientOf(next).send('PUT', 'kv/it', put('second'))).status).toBe(204)
  await nodes.level()
  for (const node of nodes.all) expect(readingOf(await nodes.clientOf(node).send('GET', 'kv/it'))).toBe('second')
  expect([await gauges(next), await gauges(a)]).toEqual([
    [1, 0, 1],
    [0, 1, 1],
  ])
})

test('a performance standby knows namespaces and their tokens', async () => {
  const { nodes, a, b, above } = await open()
  const headers = { 'X-Vault-Namespace': 'ns1' }
  await above.call('PUT', 'sys/namespaces/ns1')
  await above.call('POST', 'sys/mounts/kv', { headers, body: { type: 'kv' } })
  await above.call('PUT', 'kv/it', { headers, ...put('inside') })
  const policy = 'path "kv/*" { capabilities = ["read", "update"] }'
  await above.call('PUT', 'sys/policies/acl/own', { headers, body: { policy } })
  const token = tokenOf(await above.call('POST', 'auth/token/create', { headers, body: { policies: ['own'] } }))
  await nodes.level()
  // Results of the request checks on the standby are not sent to the active node.
  expect((await b.send('PUT', 'ns1/kv/it', { token, ...put('written') })).status).toBe(204)
  await a.crash()
  expect(readingOf(await b.send('GET', 'ns1/kv/it', { token }))).toBe('written')
  expect(readingOf(await b.send('GET', 'kv/it', { token, headers }))).toBe('written')
  expect((await b.send('GET', 'kv/it', { token })).status).toBe(403)
})

test('standbys of a performance secondary read its data and follow its role changes', async () => {
  const primary = await startLoneNode('P', {})
  await primary.open()
  const above = primary.clientOf(await primary.active())
  await above.call('POST', 'sys/mounts/shared', { body: { type: 'kv' } })
  await above.call('POST', 'sys/mounts/kept', { body: { type: 'kv' } })
  const { nodes, a, b, c } = await open({ settings: { role_change_wait: '0', step_down_rest: '1s' } })
  await joinNodes(primary, nodes, 'performance')
  nodes.rootToken = await generateRoot(a.anonymous, primary.keys)
  await above.call('PUT', 'shared/it', put('from above'))
  const body = { mode: 'deny', paths: ['kept/'] }
  await above.call('POST', 'sys/replication/performance/primary/paths-filter/second', { body })
  await until(async () => (await nodes.clientOf(await nodes.active()).send('GET', 'kept/it')).status === 404)
  await level(primary, nodes, 'performance')
  await until(async () => (await b.health()) === 473 && (await c.health()) === 473)
  await nodes.level()
  const modeOf = async (node: MemoryNode) => (await node.send('GET', 'sys/health')).json?.replication_performance_mode
  const below = nodes.clientOf(b)
  expect(readingOf(await below.send('GET', 'shared/it'))).toBe('from above')
  expect(errorsOf(await below.send('GET', 'kept/it'))[0]).toContain('route entry found, but backend is nil')
  expect((await below.send('PUT', 'shared/it', put('through both'))).status).toBe(204)
  expect(readingOf(await below.send('GET', 'shared/it'))).toBe('through both')
  expect([await modeOf(a), await modeOf(b)]).toEqual(['secondary', 'secondary'])
  await nodes.clientOf(a).call('POST', 'sys/replication/performance/secondary/promote', { body: { force: true } })
  for (const node of nodes.all) await until(async () => (await modeOf(node)) === 'primary')
  await until(async () => (await below.send('PUT', 'shared/it', put('by its own'))).status === 204)
  expect(readingOf(await below.send('GET', 'shared/it'))).toBe('by its own')
})

const startBatchRole = async (above: ApiClient) => {
  await above.call('POST', 'sys/auth/approle', { body: { type: 'approle' } })
  await above.call('POST', 'auth/approle/role/web', { body: { token_type: 'batch' } })
  const { data: id } = (await above.read('auth/approle/role/web/role-id')) as { data: { role_id: string } }
  const { data } = (await above.call('POST', 'auth/approle/role/web/secret-id')) as { data: { secret_id: string } }
  const login = async (node: MemoryNode, secret_id = data.secret_id) =>
    (await node.send('POST', 'auth/approle/login', { body: { ...id, secret_id } })).status
  return login
}

test('failed logins are counted by the active node, whichever node receives them', async () => {
  const { nodes, a, b, above } = await open()
  const login = await startBatchRole(above)
  expect(await login(a)).toBe(200)
  await nodes.level()
  const seen: number[] = []
  for (let count = 0; count < 4; count++) seen.push(await login(b, `wrong-${count}`))
  seen.push(await login(b), await login(b, 'wrong-again'), await login(a))
  expect(seen).toEqual([400, 400, 400, 400, 200, 400, 200])
  for (let count = 0; count < 5; count++) await login(a, `wrong-${count}`)
  expect([await login(a), await login(b)]).toEqual([403, 403])
})

test('a performance standby waits for the mount and namespace of a new token', async () => {
  const { b, above } = await open({ ...IMPATIENT, more: { replication: { best_effort_wal_wait_duration: '5s' } } })
  b.shared?.link.cut()
  const headers = { 'X-Vault-Namespace': 'ns1' }
  await above.call('PUT', 'sys/namespaces/ns1')
  await above.call('POST', 'sys/mounts/new', { body: { type: 'kv' } })
  await above.call('PUT', 'new/it', { body: { value: 'first' } })
  await above.call('PUT', 'sys/policies/acl/own', { body: { policy: 'path "*" { capabilities = ["read","list"] }' } })
  const inside = tokenOf(await above.call('POST', 'auth/token/create', { headers, body: { policies: ['default'] } }))
  const token = tokenOf(await above.call('POST', 'auth/token/create', { body: { policies: ['own'] } }))
  const asked = [
    b.send('GET', 'new/it', { token }),
    b.send('GET', 'auth/token/lookup-self', { token: inside, headers }),
    b.send('GET', 'auth/token/lookup-self', { token: inside }),
  ]
  b.shared?.link.heal()
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200])
})

test('a token whose entity has not reached a performance secondary yet is valid on all of its nodes', async () => {
  const primary = await startLoneNode('P', {})
  await primary.open()
  const above = primary.clientOf(await primary.active())
  await above.call('POST', 'sys/auth/approle', { body: { type: 'approle' } })
  await above.call('POST', 'auth/approle/role/web', { body: {} })
  const { data: id } = (await above.read('auth/approle/role/web/role-id')) as { data: object }
  const { data } = (await above.call('POST', 'auth/approle/role/web/secret-id')) as { data: { secret_id: string } }
  const more = { replication: { best_effort_wal_wait_duration: '200ms' } }
  const nodes = await startMemoryNodes(['A', 'B', 'C'], {
    settings: { role_change_wait: '5s', lab_api: 'true' },
    more,
  })
  await nodes.open()
  await joinNodes(primary, nodes, 'performance')
  const [a, b] = nodes.all as [MemoryNode, MemoryNode, MemoryNode]
  nodes.rootToken = await generateRoot(a.anonymous, primary.keys)
  await until(async () => (await b.health()) === 473)
  await level(primary, nodes, 'performance')
  await nodes.level()
  const hold = JSON.stringify({ kind: 'performance', state: 'apply' })
  expect((await fetch(`${a.address}/_understudy/v1/states/hold`, { method: 'POST', body: hold })).status).toBe(204)
  const login = await b.send('POST', 'auth/approle/login', { body: { ...id, secret_id: data.secret_id } })
  expect(login.status).toBe(200)
  const token = tokenOf(login.json ?? {})
  const statuses: number[] = []
  for (const node of [a, b]) statuses.push((await node.send('GET', 'auth/token/lookup-self', { token })).status)
  expect(statuses).toEqual([200, 200])
  await fetch(`${a.address}/_understudy/v1/states/release`, { method: 'POST', body: '{}' })
})

test('a performance standby runs no periodic work of mounts and deletes no leftovers', async () => {
  const intervals = new Map<string, number[]>()
  const said: string[] = []
  const clock = (name: string): Clock => ({
    ...systemClock,
    setRepeating: (ms, fn) => {
      intervals.set(name, [...(intervals.get(name) ?? []), ms])
      return systemClock.setRepeating(ms, fn)
    },
  })
  const log = (name: string): Log => {
    const say = (text: string) => void said.push(`${name}: ${text}`)
    const own: Log = { ...silentLog, warn: say, error: say, with: () => own }
    return own
  }
  const { nodes, a, b, c, above } = await open({ ...IMPATIENT, clock, log })
  await above.call('POST', 'sys/mounts/transit', { body: { type: 'transit' } })
  for (const path of ['approle', 'gone']) await above.call('POST', `sys/auth/${path}`, { body: { type: 'approle' } })
  await above.call('POST', 'auth/gone/role/web', { body: { bind_secret_id: false, token_bound_cidrs: '127.0.0.1/8' } })
  const { data } = (await above.read('auth/gone/role/web/role-id')) as { data: object }
  await above.call('POST', 'auth/gone/login', { body: data })
  await nodes.level()
  await above.call('DELETE', 'sys/auth/gone')
  await above.call('PUT', 'kv/it', put('behind it'))
  await nodes.level()
  for (const node of [b, c]) expect(readingOf(await nodes.clientOf(node).send('GET', 'kv/it'))).toBe('behind it')
  // AppRole and transit have the same interval.
  const workOf = ({ name }: MemoryNode) =>
    intervals.get(name)?.filter((ms) => ms === OWN_KEYS.approle_tidy_interval.fallback).length
  expect([workOf(b), workOf(c)]).toEqual([0, 0])
  expect(workOf(a)).toBeGreaterThanOrEqual(2)
  expect(said.filter((text) => !text.startsWith('A: '))).toEqual([])
  await above.call('PUT', 'sys/step-down')
  expect(workOf(await nodes.active([b, c]))).toBeGreaterThanOrEqual(2)
})

test('a performance standby forwards reads during a resync, because its copy may contain half of a change', async () => {
  const { nodes, a, b } = await open()
  // A redirect shows that the node does not answer the read itself.
  const headers = { 'X-Vault-No-Request-Forwarding': 'true' }
  const read = async () =>
    (
      await fetch(`${b.address}/v1/kv/it`, {
        headers: { ...headers, 'X-Vault-Token': nodes.rootToken },
        redirect: 'manual',
      })
    ).status
  const takeIn = (remote?: RemotePosition) =>
    a.store?.importMutations([{ key: 'logical/taken-in', value: Buffer.from(String(remote?.index)) }], remote)
  expect(await read()).toBe(200)
  await takeIn()
  await until(async () => b.store?.isResyncing === true)
  expect(await read()).toBe(307)
  await takeIn({ index: 1, hash: Buffer.alloc(20), epoch: '' })
  await until(async () => b.store?.isResyncing === false)
  expect(await read()).toBe(200)
})

test('a performance standby serves pki certificates, and the active node issues them and builds the list', async () => {
  const { above, below, nodes } = await open({})
  await above.call('POST', 'sys/mounts/pki', { body: { type: 'pki' } })
  const ca = { common_name: 'root.test', key_type: 'ec' }
  const root = await above.call('POST', 'pki/root/generate/internal', { body: ca })
  await above.call('POST', 'pki/roles/web', { body: { allow_any_name: true, key_type: 'ec', max_ttl: '1h' } })
  await nodes.level()
  expect((await below.send('GET', 'pki/cert/crl')).status).toBe(200)
  const issued = await below.call('POST', 'pki/issue/web', { body: { common_name: 'a' } })
  const { serial_number: serial, issuing_ca: authority } = issued.data as Record<string, string>
  expect(authority).toBe((root.data as Record<string, string>).certificate)
  expect((await below.send('POST', 'pki/revoke', { body: { serial_number: serial } })).status).toBe(200)
  const shown = (await below.send('GET', `pki/cert/${serial}`)).json?.data
  expect(shown).toMatchObject({ revocation_time: expect.any(Number), certificate: expect.stringContaining('BEGIN') })
  const [here, there] = await Promise.all([below, above].map((client) => client.send('GET', 'pki/cert/crl')))
  expect(here?.json?.data).toEqual(there?.json?.data)
})
