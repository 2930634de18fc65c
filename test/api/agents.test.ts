import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OpenServerProcess, startOpenServerProcess } from '../support/server-process.js'
import { dataOf, type Json, type Send, wire, wrapInfoOf } from '../support/wire.js'

/** The AppRole requests of Vault Agent, Terraform and Spring Vault, with their headers and bodies. */
let server: OpenServerProcess
let root: Send
const anonymous: Send = (...request) => wire(server.address, { 'X-Vault-Request': 'true' })(...request)
const holding = (token: unknown): Send =>
  wire(server.address, { 'X-Vault-Token': String(token), 'X-Vault-Request': 'true' })

beforeAll(async () => {
  server = await startOpenServerProcess()
  root = holding(server.rootToken)
  await root('POST', 'sys/auth/approle', '{"type":"approle"}')
  await root('POST', 'sys/mounts/secret', '{"type":"kv","options":{"version":"2"}}')
  await root('PUT', 'secret/data/app', '{"data":{"word":"x"}}')
  await root('PUT', 'sys/policies/acl/app', '{"policy":"path \\"secret/data/app\\" { capabilities = [\\"read\\"] }"}')
})
afterAll(() => server?.[Symbol.asyncDispose]())

const makeRole = async (name: string, body: string): Promise<string> => {
  expect((await root('PUT', `auth/approle/role/${name}`, body)).status).toBe(204)
  return String((await root('GET', `auth/approle/role/${name}/role-id`)).json?.data.role_id)
}

const login = (roleId: string, secretId: unknown) =>
  anonymous('PUT', 'auth/approle/login', JSON.stringify({ role_id: roleId, secret_id: secretId }))

describe('Vault Agent', () => {
  let roleId = ''
  beforeAll(async () => {
    roleId = await makeRole('agent', '{"token_policies":"app","token_ttl":"2m","token_max_ttl":"10m"}')
  })

  /** The agent renews immediately after every login, and then renders its templates. */
  const follow = async (auth: Json | undefined) => {
    const own = holding(auth?.client_token)
    const renewed = await own('PUT', 'auth/token/renew-self', '{"increment":0}')
    expect(renewed.json?.auth).toMatchObject({
      client_token: auth?.client_token,
      accessor: auth?.accessor,
      renewable: true,
      lease_duration: 120,
    })
    const preflight = await own('GET', 'sys/internal/ui/mounts/secret/app')
    expect(preflight.json?.data).toMatchObject({ path: 'secret/', options: { version: '2' } })
    expect((await own('GET', 'secret/data/app')).json?.data.data).toEqual({ word: 'x' })
    const self = (await own('GET', 'auth/token/lookup-self')).json?.data
    expect([typeof self?.ttl, self?.renewable, self?.type]).toEqual(['number', true, 'service'])
  }

  it('Vault Agent logs in with a plain SecretID', async () => {
    const secret = (await root('PUT', 'auth/approle/role/agent/secret-id', 'null')).json?.data
    await follow((await login(roleId, secret?.secret_id)).json?.auth)
  })

  it('Vault Agent looks up a wrapped SecretID, compares its creation path, unwraps it once, and logs in', async () => {
    const wrapped = await root('PUT', 'auth/approle/role/agent/secret-id', 'null', { 'X-Vault-Wrap-TTL': '5m' })
    const { token, wrapped_accessor } = wrapInfoOf(wrapped)
    const own = holding(token)
    const looked = await own('GET', 'sys/wrapping/lookup')
    expect(looked.json?.data).toEqual({
      creation_path: 'auth/approle/role/agent/secret-id',
      creation_time: expect.any(String),
      creation_ttl: 300,
    })
    const secret = (await own('PUT', 'sys/wrapping/unwrap')).json?.data
    expect(secret?.secret_id_accessor).toBe(wrapped_accessor)
    await follow((await login(roleId, secret?.secret_id)).json?.auth)
    const again = await own('GET', 'sys/wrapping/lookup')
    expect([again.status, again.json?.errors]).toEqual([400, ['wrapping token is not valid or does not exist']])
  })

  it('Vault Agent logs in without a SecretID if the role requires none', async () => {
    const bare = await makeRole(
      'bare',
      '{"bind_secret_id":false,"token_bound_cidrs":"127.0.0.0/8","token_policies":"app","token_ttl":"2m"}',
    )
    const answer = await anonymous('PUT', 'auth/approle/login', JSON.stringify({ role_id: bare }))
    await follow(answer.json?.auth)
  })

  it('Vault Agent logs in again when its token can no longer be renewed', async () => {
    const short = await makeRole('short', '{"token_ttl":"1s","token_max_ttl":"1s"}')
    const secret = (await root('PUT', 'auth/approle/role/short/secret-id', 'null')).json?.data
    const { auth } = (await login(short, secret?.secret_id)).json ?? {}
    let status = 200
    while (status === 200) status = (await holding(auth?.client_token)('PUT', 'auth/token/renew-self', '{}')).status
    expect([400, 403]).toContain(status)
    expect((await login(short, secret?.secret_id)).status).toBe(200)
  })
})

describe('Terraform', () => {
  /** Terraform creates a child token for each run, and revokes it. */
  const inRun = async <T>(work: (send: Send) => Promise<T>): Promise<T> => {
    const child = await root(
      'POST',
      'auth/token/create',
      '{"ttl":"1200s","explicit_max_ttl":"1200s","display_name":"terraform","renewable":false}',
    )
    const send = holding(child.json?.auth.client_token)
    const result = await work(send)
    expect((await send('PUT', 'auth/token/revoke-self', 'null')).status).toBe(204)
    return result
  }

  const ROLE = {
    bind_secret_id: true,
    local_secret_ids: false,
    secret_id_bound_cidrs: null,
    secret_id_num_uses: 10,
    secret_id_ttl: 3600,
    token_bound_cidrs: ['10.0.0.0/8', '127.0.0.1'],
    token_explicit_max_ttl: 0,
    token_max_ttl: 7200,
    token_no_default_policy: false,
    token_num_uses: 0,
    token_period: 0,
    token_policies: ['app', 'dev'],
    token_ttl: 1800,
    token_type: 'default',
  }

  it('Terraform reads a role as it was written, so that the next plan is empty', async () => {
    await inRun(async (send) => {
      const body = JSON.stringify({ ...ROLE, role_id: 'chosen' })
      expect((await send('PUT', 'auth/approle/role/tf', body)).status).toBe(204)
    })
    await inRun(async (send) => {
      const { data } = (await send('GET', 'auth/approle/role/tf')).json ?? {}
      expect(data).toMatchObject({ ...ROLE, secret_id_bound_cidrs: [] })
      expect((await send('GET', 'auth/approle/role/tf/role-id')).json?.data).toEqual({ role_id: 'chosen' })
    })
  })

  it('Terraform updates a role without local_secret_ids, whose change is 400', async () => {
    await inRun(async (send) => {
      const { local_secret_ids, ...rest } = ROLE
      const update = JSON.stringify({ ...rest, token_ttl: 900, role_id: 'chosen' })
      expect((await send('PUT', 'auth/approle/role/tf', update)).status).toBe(204)
      expect((await send('GET', 'auth/approle/role/tf')).json?.data).toMatchObject({ token_ttl: 900, local_secret_ids })
      expect((await send('PUT', 'auth/approle/role/tf', '{"local_secret_ids":true}')).status).toBe(400)
    })
  })

  it('Terraform tracks a secret-id resource by its accessor, and detects its removal', async () => {
    await inRun(async (send) => {
      const body = '{"cidr_list":"","metadata":"{\\"env\\":\\"test\\"}","token_bound_cidrs":null}'
      const made = dataOf(await send('PUT', 'auth/approle/role/tf/secret-id', body))
      const accessor = JSON.stringify({ secret_id_accessor: made.secret_id_accessor })
      const read = () => send('PUT', 'auth/approle/role/tf/secret-id-accessor/lookup', accessor)
      expect((await read()).json?.data).toMatchObject({ metadata: { env: 'test' }, cidr_list: [] })
      expect((await send('PUT', 'auth/approle/role/tf/secret-id-accessor/destroy', accessor)).status).toBe(204)
      const gone = await read()
      expect(gone.status).toBe(404)
      expect(gone.text).toContain('failed to find accessor entry')
    })
  })

  it('Terraform tracks a wrapped secret-id by its wrapped accessor', async () => {
    await inRun(async (send) => {
      const wrapped = await send('PUT', 'auth/approle/role/tf/secret-id', '{}', { 'X-Vault-Wrap-TTL': '300s' })
      const { wrapped_accessor, accessor, token } = wrapInfoOf(wrapped)
      expect([typeof wrapped_accessor, typeof accessor, typeof token]).toEqual(['string', 'string', 'string'])
      const body = JSON.stringify({ secret_id_accessor: wrapped_accessor })
      expect((await send('PUT', 'auth/approle/role/tf/secret-id-accessor/lookup', body)).status).toBe(200)
    })
  })

  it('Terraform deletes a role, even if it no longer exists', async () => {
    await inRun(async (send) => {
      expect((await send('DELETE', 'auth/approle/role/tf')).status).toBe(204)
      expect([204, 404]).toContain((await send('DELETE', 'auth/approle/role/tf')).status)
      expect((await send('GET', 'auth/approle/role/tf')).json).toEqual({ errors: [] })
    })
  })
})

describe('Spring Vault', () => {
  const TYPES = { Accept: 'application/json, application/*+json', 'Content-Type': 'application/json' }

  it('Spring Vault fetches the RoleID and a SecretID without a body, logs in, and looks up its token', async () => {
    await makeRole('spring', '{"token_policies":"app","token_ttl":"5m"}')
    const role = await root('GET', 'auth/approle/role/spring/role-id', undefined, { Accept: TYPES.Accept })
    const secret = await root('POST', 'auth/approle/role/spring/secret-id', '', { Accept: TYPES.Accept })
    const body = JSON.stringify({ role_id: role.json?.data.role_id, secret_id: secret.json?.data.secret_id })
    const { auth } = (await wire(server.address, TYPES)('POST', 'auth/approle/login', body)).json ?? {}
    expect(auth).toMatchObject({
      client_token: expect.any(String),
      accessor: expect.any(String),
      lease_duration: 300,
      renewable: true,
      token_type: 'service',
    })
    const own = wire(server.address, { ...TYPES, 'X-Vault-Token': String(auth?.client_token) })
    const self = (await own('GET', 'auth/token/lookup-self')).json?.data
    expect([typeof self?.ttl, self?.renewable, self?.type]).toEqual(['number', true, 'service'])
    expect((await own('POST', 'auth/token/renew-self', '')).json?.auth.lease_duration).toBe(300)
    expect((await own('POST', 'auth/token/revoke-self', '')).status).toBe(204)
    expect((await own('GET', 'auth/token/lookup-self')).status).toBe(403)
  })

  it('Spring Vault unwraps a response with the wrapping token in the header', async () => {
    const wrapped = await root('POST', 'auth/approle/role/spring/secret-id', '', { 'X-Vault-Wrap-TTL': '60' })
    const own = wire(server.address, { ...TYPES, 'X-Vault-Token': String(wrapped.json?.wrap_info.token) })
    expect((await own('POST', 'sys/wrapping/unwrap', '')).json?.data.secret_id).toEqual(expect.any(String))
  })
})
