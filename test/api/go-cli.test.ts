import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ServerProcess, startServerProcess } from '../support/server-process.js'
import { authOf, dataOf, retried, type Send, type WireAnswer, wire } from '../support/wire.js'

/**
 * The requests of Vault's Go command line, in its order, with its methods, headers and bodies: no Content-Type, `null`
 * for no data, LIST as a query, zeros and nulls for unused fields.
 */
let server: ServerProcess
let anonymous: Send
let root: Send
let keys: readonly string[] = []

const client = (address: string, token = ''): Send =>
  wire(address, {
    'User-Agent': 'Go-http-client/1.1',
    ...(token === '' ? {} : { 'X-Vault-Token': token }),
    'X-Vault-Request': 'true',
    'Accept-Encoding': 'gzip',
  })

beforeAll(async () => {
  server = await startServerProcess()
  anonymous = client(server.address)
})
afterAll(() => server?.[Symbol.asyncDispose]())

const ENVELOPE = ['request_id', 'lease_id', 'renewable', 'lease_duration', 'data', 'wrap_info', 'warnings', 'auth']

describe('starting', () => {
  it('the requests of vault status work on a new server', async () => {
    const status = await anonymous('GET', 'sys/seal-status')
    expect(status.json).toMatchObject({ type: 'shamir', initialized: false, sealed: true, t: 0, n: 0, progress: 0 })
    const leader = await anonymous('GET', 'sys/leader')
    expect([leader.status, leader.json?.errors]).toEqual([503, ['Vault is sealed']])
  })

  it('the requests of vault operator init work', async () => {
    expect((await anonymous('GET', 'sys/seal-status')).status).toBe(200)
    const made = await anonymous(
      'PUT',
      'sys/init',
      '{"secret_shares":5,"secret_threshold":3,"pgp_keys":null,"recovery_shares":0,"recovery_threshold":0,"recovery_pgp_keys":null,"root_token_pgp_key":"","stored_shares":0}\n',
    )
    expect(made.status, made.text).toBe(200)
    expect(Object.keys(made.json ?? {})).toEqual(['keys', 'keys_base64', 'root_token'])
    keys = made.json?.keys ?? []
    expect(keys.map((key) => key.length)).toEqual([66, 66, 66, 66, 66])
    expect(made.json?.root_token).toMatch(/^hvs\.[0-9A-Za-z]{24}$/)
    root = client(server.address, String(made.json?.root_token))
    expect((await anonymous('GET', 'sys/init')).json).toEqual({ initialized: true })
  })

  it('the requests of vault operator unseal work', async () => {
    const unseal = (key: string) => anonymous('PUT', 'sys/unseal', `{"key":"${key}","reset":false,"migrate":false}\n`)
    expect((await unseal(keys[0] ?? '')).json).toMatchObject({ sealed: true, t: 3, n: 5, progress: 1 })
    expect((await anonymous('PUT', 'sys/unseal', '{"reset":true}\n')).json).toMatchObject({ progress: 0 })
    for (const key of keys.slice(1, 3)) await unseal(key)
    expect((await unseal(keys[4] ?? '')).json).toMatchObject({ sealed: false, progress: 0 })
    const leader = await anonymous('GET', 'sys/leader')
    expect(leader.json).toMatchObject({ ha_enabled: true, is_self: true, performance_standby: false })
    expect(Object.keys(leader.json ?? {})).not.toContain('data')
  })

  it('the requests of vault login with a token work', async () => {
    const self = await root('GET', 'auth/token/lookup-self')
    expect(Object.keys(self.json ?? {}).slice(0, 8)).toEqual(ENVELOPE)
    expect(dataOf(self)).toMatchObject({
      policies: ['root'],
      ttl: 0,
      renewable: false,
      type: 'service',
      path: 'auth/token/root',
    })
  })
})

describe('secrets', () => {
  it('the requests of vault kv put, get, list, delete, undelete and destroy work in version 2', async () => {
    const enable =
      '{"type":"kv","description":"","config":{"options":null,"default_lease_ttl":"0s","max_lease_ttl":"0s","force_no_cache":false},"local":false,"seal_wrap":false,"external_entropy_access":false,"options":{"version":"2"}}\n'
    expect((await root('POST', 'sys/mounts/secret', enable)).status).toBe(204)
    const preflight = dataOf(await root('GET', 'sys/internal/ui/mounts/secret/a'))
    expect(preflight).toMatchObject({ path: 'secret/', type: 'kv', options: { version: '2' } })
    const put = await root('PUT', 'secret/data/a', '{"data":{"k":"v"},"options":{}}\n')
    expect(dataOf(put)).toMatchObject({ version: 1, destroyed: false, deletion_time: '', custom_metadata: null })
    expect(dataOf(await root('GET', 'secret/data/a'))).toMatchObject({ data: { k: 'v' }, metadata: { version: 1 } })
    expect(dataOf(await root('GET', 'secret/data/a?version=1')).data).toEqual({ k: 'v' })
    expect(dataOf(await root('GET', 'secret/metadata?list=true')).keys).toEqual(['a'])
    expect((await root('DELETE', 'secret/data/a')).status).toBe(204)
    const deleted = await root('GET', 'secret/data/a')
    expect([deleted.status, deleted.json?.data.data]).toEqual([404, null])
    expect((await root('PUT', 'secret/undelete/a', '{"versions":["1"]}\n')).status).toBe(204)
    expect(dataOf(await root('GET', 'secret/data/a')).data).toEqual({ k: 'v' })
    expect((await root('PUT', 'secret/delete/a', '{"versions":["1"]}\n')).status).toBe(204)
    expect((await root('PUT', 'secret/destroy/a', '{"versions":["1"]}\n')).status).toBe(204)
    expect(dataOf(await root('GET', 'secret/metadata/a')).versions).toMatchObject({ 1: { destroyed: true } })
  })

  it('the requests of vault kv patch work with the media type, and without the patch capability', async () => {
    await root('PUT', 'secret/data/p', '{"data":{"a":"1","b":"2"},"options":{}}\n')
    const patched = await root('PATCH', 'secret/data/p', '{"data":{"a":null,"c":"3"},"options":{}}\n', {
      'Content-Type': 'application/merge-patch+json',
    })
    expect(dataOf(patched).version).toBe(2)
    expect(dataOf(await root('GET', 'secret/data/p')).data).toEqual({ b: '2', c: '3' })
    const fallback = await root('PUT', 'secret/data/p', '{"data":{"b":"9"},"options":{"cas":2}}\n')
    expect(dataOf(fallback).version).toBe(3)
  })

  it('the requests of vault kv rollback and kv metadata put, get and delete work', async () => {
    expect(dataOf(await root('GET', 'secret/data/p')).metadata).toMatchObject({ version: 3 })
    const old = dataOf(await root('GET', 'secret/data/p?version=1')).data
    const back = await root('PUT', 'secret/data/p', JSON.stringify({ data: old, options: { cas: 3 } }))
    expect(dataOf(back).version).toBe(4)
    const metadata =
      '{"cas_required":false,"custom_metadata":{"owner":"me"},"delete_version_after":"0s","max_versions":5}\n'
    expect((await root('PUT', 'secret/metadata/p', metadata)).status).toBe(204)
    expect(dataOf(await root('GET', 'secret/metadata/p'))).toMatchObject({
      max_versions: 5,
      custom_metadata: { owner: 'me' },
      current_version: 4,
    })
    expect((await root('DELETE', 'secret/metadata/p')).status).toBe(204)
    expect((await root('GET', 'secret/metadata/p')).json).toEqual({ errors: [] })
  })

  it('the requests of vault kv put and get work in version 1', async () => {
    expect((await root('POST', 'sys/mounts/one', '{"type":"kv","options":null}\n')).status).toBe(204)
    const preflight = dataOf(await root('GET', 'sys/internal/ui/mounts/one/a'))
    expect([preflight.path, preflight.type]).toEqual(['one/', 'kv'])
    expect((await root('PUT', 'one/a', '{"k":"v"}\n')).status).toBe(204)
    const read = await root('GET', 'one/a')
    expect([read.json?.lease_duration, dataOf(read)]).toEqual([2764800, { k: 'v' }])
    expect(dataOf(await root('GET', 'one?list=true')).keys).toEqual(['a'])
  })
})

describe('access', () => {
  it('the requests of vault auth enable, policy write and list, and a login by write work', async () => {
    expect((await root('POST', 'sys/auth/approle', '{"type":"approle"}\n')).status).toBe(204)
    const policy = JSON.stringify({ policy: 'path "secret/data/*" { capabilities = ["read"] }' })
    expect((await root('PUT', 'sys/policies/acl/app', policy)).status).toBe(204)
    expect(dataOf(await root('GET', 'sys/policies/acl?list=true')).keys).toEqual(['app', 'default', 'root'])
    expect((await root('PUT', 'auth/approle/role/app', '{"token_policies":"app"}\n')).status).toBe(204)
    const { role_id } = dataOf(await root('GET', 'auth/approle/role/app/role-id'))
    const { secret_id } = dataOf(await root('PUT', 'auth/approle/role/app/secret-id', 'null\n'))
    const login = await anonymous('PUT', 'auth/approle/login', JSON.stringify({ role_id, secret_id }))
    expect(login.json?.auth).toMatchObject({ policies: ['app', 'default'], token_type: 'service', orphan: true })
  })

  it('the requests of vault token create, lookup, renew, capabilities and revoke work', async () => {
    const made = await root('POST', 'auth/token/create', '{"policies":["app"],"ttl":"1h","type":"service"}\n')
    const { client_token, accessor } = authOf(made)
    const own = client(server.address, String(client_token))
    expect(dataOf(await own('GET', 'auth/token/lookup-self'))).toMatchObject({ accessor, creation_ttl: 3600 })
    const body = JSON.stringify({ token: client_token })
    expect(dataOf(await root('POST', 'auth/token/lookup', body))).toMatchObject({ id: client_token })
    const renewed = await own('PUT', 'auth/token/renew-self', '{"increment":1800}\n')
    expect(renewed.json?.auth).toMatchObject({ lease_duration: 1800, renewable: true })
    const able = await root('POST', 'sys/capabilities', JSON.stringify({ path: 'secret/data/a', token: client_token }))
    expect(able.json).toMatchObject({ capabilities: ['read'], 'secret/data/a': ['read'] })
    expect((await own('POST', 'sys/capabilities-self', '{"path":"sys/mounts"}\n')).json).toMatchObject({
      capabilities: ['deny'],
    })
    expect((await root('POST', 'auth/token/revoke-accessor', JSON.stringify({ accessor }))).status).toBe(204)
    expect((await own('PUT', 'auth/token/revoke-self', 'null\n')).status).toBe(403)
  })

  it('the requests of vault audit enable and unwrap work', async () => {
    const audit = '{"type":"file","description":"","options":{"file_path":"discard"},"local":false}\n'
    expect((await root('PUT', 'sys/audit/file', audit)).status).toBe(204)
    const wrapped = await root('GET', 'secret/metadata?list=true', undefined, { 'X-Vault-Wrap-TTL': '5m' })
    expect(wrapped.json).toMatchObject({
      request_id: '',
      data: null,
      wrap_info: { ttl: 300, creation_path: 'secret/metadata/' },
    })
    const holder = client(server.address, String(wrapped.json?.wrap_info.token))
    expect(dataOf(await holder('PUT', 'sys/wrapping/unwrap')).keys).toEqual(['a'])
    const again = await holder('PUT', 'sys/wrapping/unwrap')
    expect([again.status, again.json?.errors]).toEqual([400, ['wrapping token is not valid or does not exist']])
  })
})

describe('replication and root tokens', () => {
  it('the requests to enable a DR primary without data, to issue a secondary-token and to read the status work', async () => {
    const enabled = await root('PUT', 'sys/replication/dr/primary/enable', 'null\n')
    expect([enabled.status, Object.keys(enabled.json ?? {}).slice(0, 8)]).toEqual([200, ENVELOPE])
    expect(enabled.json?.warnings).toHaveLength(1)
    const made = await retried(() => root('PUT', 'sys/replication/dr/primary/secondary-token', '{"id":"b"}\n'))
    expect(made.json?.wrap_info).toMatchObject({ token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/), ttl: 1800 })
    const status = dataOf(await anonymous('GET', 'sys/replication/dr/status'))
    expect(status).toMatchObject({ mode: 'primary', state: 'running' })
  })

  it("the requests of generate-root with the caller's OTP work, canceled and completed", async () => {
    const before = await anonymous('GET', 'sys/generate-root/attempt')
    expect(before.json).toMatchObject({ started: false, otp_length: 28, otp: '', nonce: '' })
    const otp = 'A'.repeat(28)
    const body = `{"otp":"${otp}","pgp_key":""}\n`
    expect((await anonymous('PUT', 'sys/generate-root/attempt', body)).json).toMatchObject({ started: true, otp: '' })
    expect((await anonymous('DELETE', 'sys/generate-root/attempt')).status).toBe(204)
    const { json } = await anonymous('PUT', 'sys/generate-root/attempt', body)
    let done: WireAnswer | undefined
    for (const key of keys.slice(0, 3)) {
      expect((await anonymous('GET', 'sys/generate-root/attempt')).json).toMatchObject({ started: true })
      done = await anonymous('PUT', 'sys/generate-root/update', JSON.stringify({ key, nonce: json?.nonce }))
    }
    expect(done?.json).toMatchObject({ complete: true, progress: 3, required: 3 })
    const encoded = Buffer.from(String(done?.json?.encoded_token), 'base64')
    const token = Buffer.from(encoded.map((byte, index) => byte ^ otp.charCodeAt(index))).toString()
    expect(dataOf(await client(server.address, token)('GET', 'auth/token/lookup-self')).policies).toEqual(['root'])
  })
})
