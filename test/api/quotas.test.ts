import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type OpenServerProcess, startOpenServerProcess } from '../support/server-process.js'
import { as, dataOf, refusalOf } from '../support/wire.js'

/** Rate limit quotas, as operators write them and as clients notice them. The intervals are longer than the tests. */
let server: OpenServerProcess
let root: ReturnType<typeof as>
const team = () => as(server.address, server.rootToken, { 'X-Vault-Namespace': 'team' })

beforeAll(async () => {
  server = await startOpenServerProcess()
  root = as(server.address, server.rootToken)
  await root('POST', 'sys/namespaces/team')
  await root('POST', 'sys/auth/approle', { type: 'approle' })
  for (const name of ['one', 'two']) {
    await root('POST', `sys/mounts/${name}`, { type: 'kv' })
    await root('PUT', `${name}/a`, { v: 1 })
    await root('POST', `auth/approle/role/${name}`, {
      role_id: name,
      bind_secret_id: false,
      token_bound_cidrs: '0.0.0.0/0',
    })
  }
})
afterAll(() => server?.[Symbol.asyncDispose]())

const AT = 'sys/quotas/rate-limit'
const HOUR = { interval: '1h' }

const write = async (name: string, body: object) => refusalOf(await root('POST', `${AT}/${name}`, { ...HOUR, ...body }))

const statuses = async (count: number, ask: () => Promise<{ readonly status: number }>): Promise<number[]> => {
  const found: number[] = []
  for (let at = 0; at < count; at++) found.push((await ask()).status)
  return found
}

it('a quota is written, listed, read and deleted', async () => {
  expect(refusalOf(await root('LIST', AT))).toEqual([404, []])
  const all = { rate: '1000.5', interval: '2m', block_interval: 300, path: 'team/' }
  expect((await root('POST', `${AT}/all`, all)).status).toBe(204)
  expect(dataOf(await root('GET', `${AT}/all`))).toEqual({
    type: 'rate-limit',
    name: 'all',
    path: 'team/',
    rate: 1000.5,
    interval: 120,
    block_interval: 300,
    role: '',
    inheritable: false,
  })
  expect((await root('POST', `${AT}/path`, { rate: 9, path: '/one/x/y/' })).status).toBe(204)
  expect(dataOf(await root('GET', `${AT}/path`))).toMatchObject({ path: 'one/x/y', rate: 9, interval: 1 })
  expect(dataOf(await root('LIST', AT))).toEqual({ keys: ['all', 'path'] })
  for (const name of ['all', 'path']) expect((await root('DELETE', `${AT}/${name}`)).status).toBe(204)
  expect(refusalOf(await root('GET', `${AT}/all`))).toEqual([404, []])
})

it('a quota is rejected if it can apply to no request', async () => {
  expect(await write('q', {})).toEqual([400, ["'rate' is invalid"]])
  expect(await write('q', { rate: 'x' })).toEqual([
    400,
    [expect.stringMatching(/field "rate": cannot parse '' as float/)],
  ])
  expect(await write('q', { rate: 1, path: 'none/x' })).toEqual([400, ['invalid mount path "none/x/"']])
  expect(await write('q', { rate: 1, path: 'one', role: 'r' })).toEqual([
    400,
    ['Mount path "one/" is not a valid auth method and therefore unsuitable for use with role-based quotas'],
  ])
  expect(await write('q', { rate: 1, path: 'auth/token', role: 'r' })).toEqual([
    400,
    ['Mount path "auth/token/" does not support use with role-based quotas'],
  ])
  expect((await write('q', { rate: 1, path: 'auth/approle/login', role: 'r' }))[0]).toBe(400)
  expect((await write('q', { rate: 1, path: 'one', inheritable: true }))[0]).toBe(400)
  expect((await root('POST', `${AT}/q`, { rate: 5, path: 'one' })).status).toBe(204)
  expect(await write('other', { rate: 1, path: 'one/' })).toEqual([
    400,
    ['quota rule with similar properties exists under the name "q"'],
  ])
  expect((await root('DELETE', `${AT}/q`)).status).toBe(204)
  expect(refusalOf(await team()('LIST', AT))).toEqual([400, ['operation unavailable in namespaces']])
})

it('requests beyond the rate of a mount fail with 429, before the server checks the token', async () => {
  await root('POST', `${AT}/mount`, { ...HOUR, rate: 2, path: 'one' })
  expect(await statuses(2, () => root('GET', 'one/a'))).toEqual([200, 200])
  const denied = await as(server.address, 'nobody')('GET', 'one/a')
  expect(refusalOf(denied)).toEqual([429, ['request path "one/a": rate limit quota exceeded']])
  expect(Object.keys(denied.headers).filter((name) => /ratelimit|retry/.test(name))).toEqual([])
  expect(refusalOf(await root('LIST', 'one'))).toEqual([429, ['request path "one/": rate limit quota exceeded']])
  expect(await statuses(3, () => root('GET', 'two/a'))).toEqual([200, 200, 200])
})

it('a moved mount keeps its quotas, and a removed mount loses them', async () => {
  await root('POST', `${AT}/moved`, { ...HOUR, rate: 1, path: 'one/b' })
  const { migration_id } = dataOf(await root('POST', 'sys/remount', { from: 'one', to: 'three' }))
  for (;;) {
    const { migration_info } = dataOf(await root('GET', `sys/remount/status/${String(migration_id)}`))
    if ((migration_info as { status: string }).status === 'success') break
  }
  expect(dataOf(await root('GET', `${AT}/moved`)).path).toBe('three/b')
  expect(await statuses(2, () => root('GET', 'three/b'))).toEqual([404, 429])
  await root('DELETE', 'sys/mounts/three')
  expect((await root('GET', `${AT}/moved`)).status).toBe(404)
})

it('responses describe the quota in headers, if the settings say so', async () => {
  const config = { enable_rate_limit_response_headers: true, rate_limit_exempt_paths: ['two/free', 'two/open/*'] }
  expect((await root('POST', 'sys/quotas/config', config)).status).toBe(204)
  expect(dataOf(await root('GET', 'sys/quotas/config'))).toEqual({
    absolute_rate_limit_exempt_paths: [],
    enable_rate_limit_audit_logging: false,
    ...config,
  })
  await root('POST', `${AT}/two`, { ...HOUR, rate: 3, path: 'two' })
  const limits = (answer: { readonly headers: Readonly<Record<string, string>> }) =>
    ['limit', 'remaining'].map((name) => answer.headers[`x-ratelimit-${name}`])
  const [found, missing, written] = [
    await root('GET', 'two/a'),
    await root('GET', 'two/none'),
    await root('PUT', 'two/b', { v: 1 }),
  ]
  expect([found, missing, written].map(({ status }) => status)).toEqual([200, 404, 204])
  expect([found, missing, written].map(limits)).toEqual(['2', '1', '0'].map((left) => ['3', left]))
  const denied = await root('GET', 'two/a')
  expect([denied.status, limits(denied)]).toEqual([429, ['3', '0']])
  expect(denied.headers['retry-after']).toBe(denied.headers['x-ratelimit-reset'])
  expect(Number(denied.headers['retry-after'])).toBeGreaterThan(0)
  expect(await statuses(2, () => root('GET', 'two/free'))).toEqual([404, 404])
  expect(await statuses(2, () => root('GET', 'two/open/x'))).toEqual([404, 404])
  await root('POST', 'sys/quotas/config', {})
  expect(dataOf(await root('GET', 'sys/quotas/config')).rate_limit_exempt_paths).toEqual([])
})

it('a quota of a role limits only the logins with this role', async () => {
  await root('POST', `${AT}/role`, { ...HOUR, rate: 1, path: 'auth/approle', role: 'one' })
  const login = (role: string) => () => as(server.address, '')('POST', 'auth/approle/login', { role_id: role })
  expect(await statuses(2, login('one'))).toEqual([200, 429])
  expect(await statuses(2, login('two'))).toEqual([200, 200])
})

it('a namespace without its own quota inherits the one of its parent, if this is inheritable', async () => {
  await root('POST', 'sys/namespaces/parent')
  const parent = as(server.address, server.rootToken, { 'X-Vault-Namespace': 'parent' })
  await parent('POST', 'sys/namespaces/child')
  const child = as(server.address, server.rootToken, { 'X-Vault-Namespace': 'parent/child' })
  await root('POST', `${AT}/parent`, { ...HOUR, rate: 1, path: 'parent' })
  expect(await statuses(2, () => child('GET', 'sys/mounts'))).toEqual([200, 200])
  await root('POST', `${AT}/parent`, { ...HOUR, rate: 1, path: 'parent', inheritable: true })
  expect(await statuses(2, () => child('GET', 'sys/mounts'))).toEqual([200, 429])
  await root('DELETE', `${AT}/parent`)
  expect((await child('GET', 'sys/mounts')).status).toBe(200)
})

it('the audit devices record rejected requests only if the settings say so', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'quotas-'))
  try {
    const file_path = path.join(folder, 'audit.log')
    await root('POST', 'sys/audit/file', { type: 'file', options: { file_path } })
    await root('POST', 'sys/mounts/audited', { type: 'kv' })
    await root('POST', `${AT}/audited`, { ...HOUR, rate: 1, path: 'audited' })
    expect(await statuses(2, () => root('GET', 'audited/silent'))).toEqual([404, 429])
    await root('POST', 'sys/quotas/config', { enable_rate_limit_audit_logging: true })
    expect(await statuses(1, () => root('GET', 'audited/recorded'))).toEqual([429])
    await root('DELETE', 'sys/audit/file')
    const lines = readFileSync(file_path, 'utf8')
      .split('\n')
      .filter((line) => line.includes('rate limit quota exceeded'))
    const paths = lines.map((line) => JSON.parse(line).request.path)
    expect(paths).toEqual(['audited/recorded', 'audited/recorded'])
  } finally {
    await root('POST', 'sys/quotas/config', {})
    rmSync(folder, { recursive: true, force: true })
  }
})

const LEASES = 'sys/quotas/lease-count'

it('a lease count quota is written, listed, read with its count and deleted', async () => {
  expect(refusalOf(await root('POST', `${LEASES}/few`, { path: 'auth/token' }))).toEqual([
    400,
    ["'max_leases' is invalid"],
  ])
  expect((await root('POST', `${LEASES}/few`, { path: 'auth/token', max_leases: 100 })).status).toBe(204)
  await root('POST', 'auth/token/create', { ttl: '1h' })
  expect(dataOf(await root('GET', `${LEASES}/few`))).toEqual({
    type: 'lease-count',
    name: 'few',
    path: 'auth/token/',
    role: '',
    inheritable: false,
    max_leases: 100,
    counter: 1,
  })
  expect(dataOf(await root('LIST', LEASES))).toEqual({ keys: ['few'] })
  expect((await root('DELETE', `${LEASES}/few`)).status).toBe(204)
  expect((await root('GET', `${LEASES}/few`)).status).toBe(404)
})

it('logins and new tokens fail with 429 at the maximum of leases, until one is revoked', async () => {
  await root('POST', 'sys/auth/approle-2', { type: 'approle' })
  await root('POST', 'auth/approle-2/role/r', { role_id: 'r', bind_secret_id: false, token_bound_cidrs: '0.0.0.0/0' })
  const login = () => as(server.address, '')('POST', 'auth/approle-2/login', { role_id: 'r' })
  await root('POST', `${LEASES}/logins`, { path: 'auth/approle-2', max_leases: 2 })
  const [one] = [await login(), await login()]
  const denied = await login()
  expect(refusalOf(denied)).toEqual([429, ['request path "auth/approle-2/login": lease count quota exceeded']])
  expect((await root('POST', 'auth/token/revoke', { token: one?.json?.auth.client_token })).status).toBe(204)
  expect(await statuses(2, login)).toEqual([200, 429])
  expect(dataOf(await root('GET', `${LEASES}/logins`)).counter).toBe(2)
})

it('concurrent logins do not exceed the maximum of leases', async () => {
  await root('POST', 'sys/auth/approle-3', { type: 'approle' })
  await root('POST', 'auth/approle-3/role/r', { role_id: 'r', bind_secret_id: false, token_bound_cidrs: '0.0.0.0/0' })
  await root('POST', `${LEASES}/many`, { path: 'auth/approle-3', max_leases: 5 })
  const login = async () => (await as(server.address, '')('POST', 'auth/approle-3/login', { role_id: 'r' })).status
  const found = await Promise.all(Array.from({ length: 12 }, login))
  expect(found.toSorted()).toEqual([200, 200, 200, 200, 200, 429, 429, 429, 429, 429, 429, 429])
})

it('a lease count quota does not apply to callers with a root token', async () => {
  await root('PUT', 'sys/policies/acl/maker', {
    policy: 'path "auth/token/create" { capabilities = ["update", "sudo"] }',
  })
  const made = await root('POST', 'auth/token/create', { policies: ['maker'], ttl: '1h' })
  const maker = as(server.address, String(made.json?.auth.client_token))
  await root('POST', `${LEASES}/tokens`, { path: 'auth/token', max_leases: 1 })
  expect((await root('POST', 'auth/token/create', { ttl: '1h' })).status).toBe(200)
  for (const type of ['service', 'batch']) {
    const refused = refusalOf(await maker('POST', 'auth/token/create', { ttl: '1h', type }))
    expect(refused[0], type).toBe(429)
    expect(String(refused[1]), type).toContain('request path "auth/token/create": lease count quota exceeded')
  }
  await root('DELETE', `${LEASES}/tokens`)
  expect((await maker('POST', 'auth/token/create', { ttl: '1h' })).status).toBe(200)
})

it('a lease count quota of a role counts only the logins with this role', async () => {
  await root('DELETE', `${AT}/role`)
  const count = async () => dataOf(await root('GET', `${LEASES}/of-two`)).counter as number
  await root('POST', `${LEASES}/of-two`, { path: 'auth/approle', role: 'two', max_leases: 1000 })
  const before = await count()
  const login = (role: string) => () => as(server.address, '')('POST', 'auth/approle/login', { role_id: role })
  await root('POST', `${LEASES}/of-two`, { path: 'auth/approle', role: 'two', max_leases: before + 1 })
  expect(await statuses(2, login('one'))).toEqual([200, 200])
  expect(await statuses(2, login('two'))).toEqual([200, 429])
  expect(await count()).toBe(before + 1)
})
