import { afterAll, beforeAll, expect, it } from 'vitest'
import { encodeWithOtp } from '../../src/base/one-time-pad.js'
import { type OpenServerProcess, startOpenServerProcess } from '../support/server-process.js'
import { as, authOf, dataOf, DENIED, refusalOf } from '../support/wire.js'

/** Small endpoints below sys that scripts and tools of Vault call. */
let server: OpenServerProcess
let root: ReturnType<typeof as>

beforeAll(async () => {
  server = await startOpenServerProcess()
  root = as(server.address, server.rootToken)
})
afterAll(() => server?.[Symbol.asyncDispose]())

it('sys/decode-token decodes a generated token for a client without a token', async () => {
  const anonymous = as(server.address, '')
  const [token, otp] = ['hvs.abcdefghijklmnopqrstuvwx', 'A1B2C3D4E5F6G7H8I9J0K1L2M3N4']
  const encoded_token = encodeWithOtp(token, otp)
  expect(dataOf(await anonymous('POST', 'sys/decode-token', { encoded_token, otp }))).toEqual({ token })
  expect(refusalOf(await anonymous('POST', 'sys/decode-token', { encoded_token }))).toEqual([
    400,
    ["provided 'encoded_token' or 'otp' is empty"],
  ])
  expect(refusalOf(await anonymous('POST', 'sys/decode-token', { encoded_token, otp: 'short' }))).toEqual([
    400,
    ['the OTP has 5 bytes, but the token has 28'],
  ])
})

it('the plugin catalog lists the built-in types, and rejects others', async () => {
  const { auth, database, secret, detailed } = dataOf(await root('GET', 'sys/plugins/catalog'))
  expect({ auth, database, secret }).toEqual({
    auth: ['approle', 'userpass'],
    database: [],
    secret: ['kv', 'transit'],
  })
  const version = expect.stringMatching(/^v\d+\.\d+\.\d+\+builtin\.vault$/)
  const facts = { builtin: true, deprecation_status: 'supported', version }
  expect(detailed).toHaveLength(4)
  expect(detailed).toContainEqual({ ...facts, name: 'kv', type: 'secret' })
  expect(dataOf(await root('LIST', 'sys/plugins/catalog/auth'))).toEqual({ keys: ['approle', 'userpass'] })
  const kv = await root('GET', 'sys/plugins/catalog/secret/kv')
  expect(dataOf(kv)).toEqual({ ...facts, name: 'kv', args: [], command: '', sha256: '' })
  expect(refusalOf(await root('GET', 'sys/plugins/catalog/auth/kv'))).toEqual([404, []])
  expect(refusalOf(await root('LIST', 'sys/plugins/catalog/other'))).toEqual([
    400,
    ['"other" is not a supported plugin type'],
  ])
  for (const method of ['PUT', 'DELETE']) {
    expect((await root(method, 'sys/plugins/catalog/secret/mine', { sha256: 'x', command: 'y' })).status).toBe(400)
  }
})

it('reading one plugin of the catalog requires sudo', async () => {
  const policy = 'path "sys/plugins/catalog*" { capabilities = ["read", "list"] }'
  await root('PUT', 'sys/policies/acl/catalog', { policy })
  const made = authOf(await root('POST', 'auth/token/create', { policies: ['catalog'] }))
  const weak = as(server.address, String(made.client_token))
  expect((await weak('GET', 'sys/plugins/catalog')).status).toBe(200)
  expect(refusalOf(await weak('GET', 'sys/plugins/catalog/secret/kv'))).toEqual([403, [DENIED]])
})

it('a server has no experiments', async () => {
  expect(dataOf(await root('GET', 'sys/experiments'))).toEqual({ available: [], enabled: [] })
})

it('tidy of leases and tokens answers 202, and leases can be revoked by force', async () => {
  for (const path of ['sys/leases/tidy', 'auth/token/tidy']) {
    expect([200, 202], path).toContain((await root('POST', path)).status)
  }
  expect(dataOf(await root('GET', 'sys/leases/count?type=irrevocable'))).toEqual({ lease_count: 0, counts: {} })
  const made = authOf(await root('POST', 'auth/token/create', { ttl: '1h' }))
  expect((await root('PUT', 'sys/leases/revoke-force/auth/token/create')).status).toBe(204)
  expect((await as(server.address, String(made.client_token))('GET', 'auth/token/lookup-self')).status).toBe(403)
})
