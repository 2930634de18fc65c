import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { ApiClient } from '../../../src/client/api-client.js'
import { type DevServer, startDevServer } from '../../support/memory-server.js'

type Fields = Record<string, unknown>

let server: DevServer
let root: ApiClient
beforeAll(async () => {
  server = await startDevServer()
  root = server.client
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

const data = async (answer: Promise<Fields>): Promise<Fields> => (await answer).data as Fields
const makeToken = async (body: Fields, client = root): Promise<string> =>
  ((await client.write('auth/token/create', body)).auth as { client_token: string }).client_token
const usesOf = async (token: string) => (await data(root.write('auth/token/lookup', { token }))).num_uses

describe('a token with limited uses', () => {
  it('a token with limited uses pays for a request that fails with 400, wherever the error arises', async () => {
    const token = await makeToken({ policies: ['root'], num_uses: 5 })
    const mistakes: [string, Fields][] = [
      ['secret/data/a', { data: 'no object' }],
      ['auth/token/roles/r', { token_num_uses: 'many' }],
      ['sys/mounts/x', {}],
    ]
    for (const [index, [at, body]] of mistakes.entries()) {
      expect((await root.send('PUT', at, { token, body })).status).toBe(400)
      expect(await usesOf(token)).toBe(4 - index)
    }
  })

  it('a token with limited uses pays nothing for a login that carries it', async () => {
    await root.write('sys/auth/userpass', { type: 'userpass' })
    await root.write('auth/userpass/users/joe', { password: 'correct', token_type: 'service' })
    const token = await makeToken({ policies: ['root'], num_uses: 5 })
    for (const [password, status] of [
      ['wrong', 400],
      ['correct', 200],
    ] as const) {
      expect((await root.send('PUT', 'auth/userpass/login/joe', { token, body: { password } })).status).toBe(status)
    }
    expect(await usesOf(token)).toBe(5)
  })

  it('the audit log shows the remaining uses of a token before each request, including a rejected one', async () => {
    const directory = mkdtempSync(path.join(os.tmpdir(), 'understudy-audit-'))
    const file = path.join(directory, 'audit.log')
    try {
      await root.write('sys/audit/file', { type: 'file', options: { file_path: file } })
      const token = await makeToken({ policies: ['default'], num_uses: 5 })
      expect((await root.send('GET', 'auth/token/lookup-self', { token })).status).toBe(200)
      expect((await root.send('GET', 'secret/data/a', { token })).status).toBe(403)
      await root.delete('sys/audit/file')
      const lines = readFileSync(file, 'utf8').trim().split('\n')
      const shown = lines
        .map((line) => JSON.parse(line) as { type: string; auth: Fields; request: { path: string } })
        .filter(({ type, auth }) => type === 'request' && auth.remaining_uses !== undefined)
        .map(({ auth, request }) => [request.path, auth.remaining_uses])
      expect(shown).toEqual([
        ['auth/token/lookup-self', 5],
        ['secret/data/a', 4],
      ])
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  })
})

describe.each([
  { mount: 'alike1', version: '1', at: 'alike1/k', body: { v: 'x' } },
  { mount: 'alike2', version: '2', at: 'alike2/data/k', body: { data: { v: 'x' } } },
])('a write to version $version of KV', ({ mount, version, at, body }) => {
  const statuses = async (...capabilities: string[]): Promise<number[]> => {
    await root.write('sys/policies/acl/alike', {
      policy: `path "${at}" { capabilities = ${JSON.stringify(capabilities)} }`,
    })
    const token = await makeToken({ policies: ['alike'], no_default_policy: true })
    const write = async () => (await root.send('PUT', at, { token, body })).status
    const found = [await write(), await write()]
    await root.delete(version === '1' ? at : at.replace('/data/', '/metadata/'))
    return found
  }
  beforeAll(async () => {
    await root.write(`sys/mounts/${mount}`, { type: 'kv', options: { version } })
    // The upgrade to version 2 runs in the background.
    await vi.waitFor(() => root.write(at, body), { timeout: 20_000 })
    await root.delete(version === '1' ? at : at.replace('/data/', '/metadata/'))
  })
  const done = version === '1' ? 204 : 200

  it('a KV write needs create or update by its effect', async () => {
    expect(await statuses('create')).toEqual([done, 403])
    expect(await statuses('update')).toEqual([403, 403])
    expect(await statuses('create', 'update')).toEqual([done, done])
    expect(await statuses('read')).toEqual([403, 403])
  })

  it('a KV write is audited as create or update by its effect', async () => {
    const directory = mkdtempSync(path.join(os.tmpdir(), 'understudy-audit-'))
    const file = path.join(directory, 'audit.log')
    try {
      await root.write('sys/audit/alike', { type: 'file', options: { file_path: file } })
      for (const _ of [1, 2]) await root.write(at, body)
      await root.delete('sys/audit/alike')
      const lines = readFileSync(file, 'utf8').trim().split('\n')
      const operations = lines
        .map((line) => JSON.parse(line) as { request: { path: string; operation: string } })
        .filter(({ request }) => request.path === at)
        .map(({ request }) => request.operation)
      expect(operations).toEqual(['create', 'create', 'update', 'update'])
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  })
})

describe('a token with a namespace suffix, without the namespace header', () => {
  it('a request of a token about itself finds the namespace by the token suffix', async () => {
    await root.write('sys/namespaces/team')
    const inside = root.with({ namespace: 'team' })
    const token = await makeToken({ policies: ['default'], ttl: '1h' }, inside)
    const own = root.with({ token })
    expect(await data(own.read('auth/token/lookup-self'))).toMatchObject({ namespace_path: 'team/' })
    expect((await own.write('auth/token/renew-self')).auth).toMatchObject({ lease_duration: 3600 })
    expect((await root.with({ token, namespace: 'root' }).send('GET', 'auth/token/lookup-self')).status).toBe(403)
    expect((await own.send('GET', 'sys/internal/ui/resultant-acl')).status).not.toBe(200)
    expect((await own.send('POST', 'auth/token/revoke-self')).status).toBe(204)
    expect((await inside.send('POST', 'auth/token/lookup', { body: { token } })).status).toBe(403)
    for (const client of [own, inside]) client.close()
  })

  it('a namespace suffix does not apply to root tokens or to unknown tokens', async () => {
    await root.write('sys/namespaces/other')
    expect(await data(root.read('other/auth/token/lookup-self'))).toMatchObject({ path: 'auth/token/root' })
    expect((await root.send('GET', 'auth/token/lookup-self', { token: 'hvs.nothing.abcde' })).status).toBe(403)
  })
})

describe('a duration below a second', () => {
  const isGone = (token: string) => async () => (await root.send('GET', 'auth/token/lookup-self', { token })).status
  const login = async (): Promise<string> => {
    await root.write('sys/auth/userpass-brief', { type: 'userpass' })
    await root.write('auth/userpass-brief/users/jo', { password: 'p', token_ttl: '500ms' })
    const { auth } = await root.write('auth/userpass-brief/login/jo', { password: 'p' })
    return (auth as { client_token: string }).client_token
  }
  const wrapped = async (): Promise<string> => {
    const headers = { 'X-Vault-Wrap-TTL': '500ms' }
    const { wrap_info } = await root.call('PUT', 'sys/wrapping/wrap', { body: { k: 'v' }, headers })
    expect(wrap_info).toMatchObject({ ttl: 0 })
    return (wrap_info as { token: string }).token
  }
  const ofRole = async (): Promise<string> => {
    await root.write('auth/token/roles/brief', { token_explicit_max_ttl: '500ms' })
    expect(await data(root.read('auth/token/roles/brief'))).toMatchObject({ token_explicit_max_ttl: 0 })
    const { auth } = await root.write('auth/token/create/brief', { policies: ['default'] })
    return (auth as { client_token: string }).client_token
  }

  it.each([
    ['ttl of a token', () => makeToken({ policies: ['default'], ttl: '500ms' })],
    ['explicit_max_ttl of a token', () => makeToken({ policies: ['default'], explicit_max_ttl: '0.5s' })],
    ['period of a token', () => makeToken({ policies: ['default'], period: '500ms' })],
    ['ttl of a batch token', () => makeToken({ policies: ['default'], type: 'batch', ttl: '500ms' })],
    ['explicit maximum of a token role', ofRole],
    ['ttl of a login', login],
  ])('a duration below a second ends the token: %s', async (_name, make) => {
    await expect.poll(isGone(await make())).toBe(403)
  })

  it('a duration below a second ends a wrapped answer', async () => {
    const token = await wrapped()
    const lookUp = async () => (await root.send('PUT', 'sys/wrapping/lookup', { body: { token } })).status
    await expect.poll(lookUp).toBe(400)
  })

  it('a duration below a second ends a version of a secret, and is shown with its unit', async () => {
    await root.write('secret/metadata/brief', { delete_version_after: '500ms' })
    expect(await data(root.read('secret/metadata/brief'))).toMatchObject({ delete_version_after: '500ms' })
    await root.write('secret/data/brief', { data: { k: 'v' } })
    await expect.poll(async () => (await root.send('GET', 'secret/data/brief')).status).toBe(404)
  })

  it('a lease duration is shown in whole seconds', async () => {
    const { auth } = await root.write('auth/token/create', { policies: ['default'], ttl: '90500ms' })
    expect(auth).toMatchObject({ lease_duration: 90 })
    const token = (auth as { client_token: string }).client_token
    expect(await data(root.write('auth/token/lookup', { token }))).toMatchObject({ creation_ttl: 90 })
  })
})

describe('cubbyhole/response', () => {
  it('cubbyhole/response shows a wrapped answer as text once, to its wrapping token', async () => {
    await root.write('secret/data/wrapped', { data: { k: 'v' } })
    const headers = { 'X-Vault-Wrap-TTL': '60' }
    const { token } = (await root.call('GET', 'secret/data/wrapped', { headers })).wrap_info as { token: string }
    const answer = await root.call('GET', 'cubbyhole/response', { token })
    expect(answer.warnings).toEqual([expect.stringMatching(/^Reading from 'cubbyhole\/response' is deprecated\. /)])
    const { response, ...others } = answer.data as { response: string }
    expect(others).toEqual({})
    expect(JSON.parse(response)).toMatchObject({ data: { data: { k: 'v' } }, wrap_info: null, auth: null })
    expect((await root.send('GET', 'cubbyhole/response', { token })).status).toBe(403)
    expect((await root.send('PUT', 'sys/wrapping/unwrap', { token })).status).toBe(400)
  })

  it('cubbyhole/response is an ordinary secret of any other token', async () => {
    const token = await makeToken({ policies: ['default'] })
    await root.call('PUT', 'cubbyhole/response', { token, body: { body: 'mine' } })
    const answer = await root.call('GET', 'cubbyhole/response', { token })
    expect(answer).toMatchObject({ data: { body: 'mine' }, warnings: null })
  })
})

describe('unwrap with a wrap TTL', () => {
  it('unwrap with a wrap TTL wraps its response again', async () => {
    const wrap = { 'X-Vault-Wrap-TTL': '60' }
    const first = await root.call('PUT', 'sys/wrapping/wrap', { body: { k: 'v' }, headers: wrap })
    const { token } = first.wrap_info as { token: string }
    const second = await root.call('PUT', 'sys/wrapping/unwrap', { body: { token }, headers: wrap })
    expect(second).toMatchObject({ data: null, wrap_info: { creation_path: 'sys/wrapping/unwrap', ttl: 60 } })
    const again = (second.wrap_info as { token: string }).token
    expect((await root.send('PUT', 'sys/wrapping/unwrap', { body: { token } })).status).toBe(400)
    expect(await root.write('sys/wrapping/unwrap', { token: again })).toMatchObject({
      data: { k: 'v' },
      wrap_info: null,
    })
  })
})

describe('wrong methods of key share endpoints', () => {
  it.each([
    ['PATCH', 'sys/generate-root/attempt'],
    ['DELETE', 'sys/generate-root/update'],
    ['PATCH', 'sys/rekey/init'],
    ['GET', 'sys/rekey/update'],
    ['PATCH', 'sys/rekey/verify'],
    ['GET', 'sys/rekey-recovery-key/update'],
    ['PATCH', 'sys/replication/dr/secondary/generate-operation-token/attempt'],
    ['DELETE', 'sys/replication/dr/secondary/generate-operation-token/update'],
  ])('%s %s answers 405 with an empty list of errors', async (method, at) => {
    const headers = { 'Content-Type': 'application/merge-patch+json' }
    const { status, json } = await root.send(method, at, method === 'PATCH' ? { body: {}, headers } : {})
    expect([status, json]).toEqual([405, { errors: [] }])
  })

  it('the OpenAPI document contains no unsupported methods of key share endpoints', async () => {
    const { paths } = (await root.read('sys/internal/specs/openapi')) as { paths: Record<string, Fields> }
    expect(Object.keys(paths['/sys/generate-root/attempt'] ?? {})).not.toContain('patch')
    expect(Object.keys(paths['/sys/leader'] ?? {})).not.toContain('post')
  })
})

describe('sys/leader of a -dev server', () => {
  it('sys/leader of a -dev server names no HA and no address until the server replicates', async () => {
    expect(await root.call('GET', 'sys/leader')).toEqual({
      ha_enabled: false,
      is_self: false,
      active_time: '0001-01-01T00:00:00Z',
      leader_address: '',
      leader_cluster_address: '',
      performance_standby: false,
      performance_standby_last_remote_wal: 0,
    })
    await root.write('sys/replication/dr/primary/enable', {})
    const address = expect.stringMatching(/^https:/)
    await expect
      .poll(() => root.call('GET', 'sys/leader'))
      .toMatchObject({ ha_enabled: true, is_self: true, leader_cluster_address: address })
    await root.write('sys/replication/dr/primary/disable', {})
    await expect.poll(() => root.call('GET', 'sys/leader')).toMatchObject({ ha_enabled: false })
  })
})

describe('sys/metrics', () => {
  it('sys/metrics shows summaries of durations, and the series that public dashboards read', async () => {
    await root.send('PUT', 'sys/auth/machines-of-metrics', { body: { type: 'approle' } })
    await root.send('PUT', 'auth/machines-of-metrics/login', { body: { role_id: 'none' } })
    const text = (await root.send('GET', 'sys/metrics', { query: { format: 'prometheus' } })).bytes.toString()
    const readSeries = (series: string): number => {
      const line = text.split('\n').find((one) => one.startsWith(`${series} `))
      return line === undefined ? Number.NaN : Number(line.slice(series.length + 1))
    }
    for (const metric of ['handle_request', 'handle_login_request']) {
      const [half, most, all] = ['0.5', '0.9', '0.99'].map((part) =>
        readSeries(`vault_core_${metric}{quantile="${part}"}`),
      )
      expect(half).toBeGreaterThan(0)
      expect(most).toBeGreaterThanOrEqual(half ?? 0)
      expect(all).toBeGreaterThanOrEqual(most ?? 0)
      expect(readSeries(`vault_core_${metric}_count`)).toBeGreaterThan(0)
      expect(readSeries(`vault_core_${metric}_sum`)).toBeGreaterThan(0)
      expect(text).toContain(`# TYPE vault_core_${metric} summary\n`)
    }
    expect(readSeries('vault_core_in_flight_requests')).toBe(1)
    expect(readSeries('vault_expire_num_irrevocable_leases')).toBe(0)
    expect(readSeries('vault_core_license_expiration_time_epoch')).toBe(4_102_444_799)
    expect(readSeries('vault_runtime_alloc_bytes')).toBeGreaterThan(1_000_000)
    expect(readSeries('vault_runtime_sys_bytes')).toBeGreaterThan(readSeries('vault_runtime_alloc_bytes'))
    expect(readSeries('vault_audit_log_request_failure')).toBe(0)
    expect(readSeries('vault_audit_log_response_count')).toBeGreaterThan(0)
  })

  it('sys/metrics rejects an unknown format in plain text', async () => {
    const { status, headers, bytes } = await root.send('GET', 'sys/metrics', { query: { format: 'xml' } })
    expect([status, headers['content-type']]).toEqual([400, 'text/plain'])
    expect(bytes.toString()).toBe('metric response format "xml" unknown')
  })

  it('sys/metrics counts created tokens by auth method, mount, type and TTL', async () => {
    await root.write('sys/auth/people', { type: 'userpass' })
    await root.write('auth/people/users/joe', { password: 'correct', token_ttl: '15m' })
    for (const _ of [1, 2]) await root.write('auth/people/login/joe', { password: 'correct' })
    await makeToken({ ttl: '3h', type: 'batch', policies: ['default'] })
    const text = (await root.send('GET', 'sys/metrics', { query: { format: 'prometheus' } })).bytes.toString()
    const lines = text.split('\n').filter((line) => line.startsWith('vault_token_creation{'))
    const labels = (line: string) =>
      Object.fromEntries([...line.matchAll(/(\w+)="([^"]*)"/g)].map(([, k, v]) => [k, v]))
    const people = lines.find((line) => line.includes('auth/people/')) ?? ''
    expect(people).toMatch(/ 2$/)
    expect(labels(people)).toEqual({
      namespace: 'root',
      auth_method: 'userpass',
      mount_point: 'auth/people/',
      creation_ttl: '20m',
      token_type: 'service',
    })
    expect(lines.map(labels)).toContainEqual(
      expect.objectContaining({
        auth_method: 'token',
        mount_point: 'auth/token/',
        creation_ttl: '1d',
        token_type: 'batch',
      }),
    )
  })
})

describe('the token type of an auth method', () => {
  it('tuning the token type of an auth method to an empty value restores default-service', async () => {
    await root.write('sys/auth/machines', { type: 'approle' })
    await root.write('sys/auth/machines/tune', { token_type: 'batch' })
    expect(await data(root.read('sys/auth/machines/tune'))).toMatchObject({ token_type: 'batch' })
    await root.write('sys/auth/machines/tune', { token_type: '' })
    expect(await data(root.read('sys/auth/machines/tune'))).toMatchObject({ token_type: 'default-service' })
    await root.write('sys/auth/token/tune', { token_type: '' })
    await root.write('sys/mounts/secret/tune', { token_type: '' })
    expect(await data(root.read('sys/mounts/secret/tune'))).not.toHaveProperty('token_type')
  })
})

describe('usage counters', () => {
  it.each(['activity', 'activity/monthly', 'activity/export'])(
    'sys/internal/counters/%s answers 204 without data',
    async (name) => {
      const { status, bytes } = await root.send('GET', `sys/internal/counters/${name}`, { query: { start_time: '1' } })
      expect([status, bytes.length]).toEqual([204, 0])
    },
  )

  it('usage counters are disabled, and token and entity counters show the current number', async () => {
    expect(await data(root.read('sys/internal/counters/config'))).toMatchObject({
      enabled: 'default-disabled',
      queries_available: false,
      retention_months: 48,
    })
    const tokens = async () =>
      ((await data(root.read('sys/internal/counters/tokens'))).counters as { service_tokens: { total: number } })
        .service_tokens.total
    const before = await tokens()
    await makeToken({})
    expect(await tokens()).toBe(before + 1)
    expect(await data(root.read('sys/internal/counters/entities'))).toEqual({
      counters: { entities: { total: expect.any(Number) } },
    })
  })
})

describe('sys/leader', () => {
  it('sys/leader reports no high availability with disable_clustering', async () => {
    await using other = await startDevServer({ disable_clustering: true })
    expect(await other.client.read('sys/leader')).toMatchObject({ ha_enabled: false })
    expect(await data(other.client.read('sys/config/state/sanitized'))).toMatchObject({
      storage: { disable_clustering: true },
    })
  })

  it('sys/leader reports no high availability with storage "file"', async () => {
    const directory = mkdtempSync(path.join(os.tmpdir(), 'understudy-file-'))
    try {
      await using other = await startDevServer({ storage: { file: { path: directory } } })
      expect(await other.client.read('sys/leader')).toMatchObject({ ha_enabled: false })
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  })
})

describe('CIDR blocks of an AppRole', () => {
  it('several CIDR blocks of an AppRole may cover a block of its SecretID, which its token shows', async () => {
    await root.write('sys/auth/approle', { type: 'approle' })
    await root.write('auth/approle/role/r', {
      secret_id_bound_cidrs: '127.0.0.0/9,127.128.0.0/9',
      token_bound_cidrs: '127.0.0.0/9,127.128.0.0/9',
    })
    const login = async (body: Fields) => {
      const { role_id } = await data(root.read('auth/approle/role/r/role-id'))
      const { secret_id } = await data(root.write('auth/approle/role/r/secret-id', body))
      const { auth } = await root.write('auth/approle/login', { role_id, secret_id })
      return data(root.write('auth/token/lookup', { token: (auth as { client_token: string }).client_token }))
    }
    expect(await login({ cidr_list: '127.0.0.0/8', token_bound_cidrs: '127.0.0.0/8' })).toMatchObject({
      bound_cidrs: ['127.0.0.0/8'],
    })
    expect(await login({ token_bound_cidrs: '127.0.0.1/32' })).toMatchObject({ bound_cidrs: ['127.0.0.1'] })
  })
})
