import { createHash } from 'node:crypto'
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

const input = Buffer.from('hello vault').toString('base64')

it('sys/tools/random returns the requested number of bytes, by body or by path', async () => {
  const random = async (path: string, body: object) => String(dataOf(await root('POST', path, body)).random_bytes)
  expect(Buffer.from(await random('sys/tools/random', {}), 'base64')).toHaveLength(32)
  expect(await random('sys/tools/random/5', { format: 'hex' })).toMatch(/^[0-9a-f]{10}$/)
  expect(await random('sys/tools/random/all/6', { format: 'hex' })).toMatch(/^[0-9a-f]{12}$/)
  expect(await random('sys/tools/random/platform', { bytes: 7, format: 'hex' })).toMatch(/^[0-9a-f]{14}$/)
})

it('random bytes of the seal come from the platform, with a warning', async () => {
  const answer = await root('POST', 'sys/tools/random/seal/5', { format: 'hex' })
  expect(dataOf(answer).random_bytes).toMatch(/^[0-9a-f]{10}$/)
  expect(answer.json?.warnings).toEqual(['no seal/entropy augmentation available, using platform entropy source'])
})

it('sys/tools/random rejects sizes, sources and formats that it does not support', async () => {
  const refused = async (path: string, body: object) => refusalOf(await root('POST', `sys/tools/${path}`, body))
  expect(await refused('random', { bytes: 0 })).toEqual([400, ['"bytes" cannot be less than 1']])
  expect(await refused('random', { bytes: 131_073 })).toEqual([400, ['"bytes" should be less than 131072']])
  expect(await refused('random', { source: 'moon' })).toEqual([
    400,
    ['unsupported entropy source "moon"; must be "platform" or "seal", or "all"'],
  ])
  expect(await refused('random', { format: 'raw' })).toEqual([
    400,
    ['unsupported encoding format "raw"; must be "hex" or "base64"'],
  ])
})

it('sys/tools/hash computes a hash, and every token may call it', async () => {
  const sum = (hash: string, form: 'hex' | 'base64') => ({ sum: createHash(hash).update('hello vault').digest(form) })
  const made = authOf(await root('POST', 'auth/token/create', { policies: ['default'] }))
  const weak = as(server.address, String(made.client_token))
  expect(dataOf(await weak('POST', 'sys/tools/hash', { input }))).toEqual(sum('sha256', 'hex'))
  expect(dataOf(await weak('PUT', 'sys/tools/hash/sha2-512', { input, format: 'base64' }))).toEqual(
    sum('sha512', 'base64'),
  )
  expect(refusalOf(await weak('POST', 'sys/tools/random'))).toEqual([403, [DENIED]])
  expect(refusalOf(await root('POST', 'sys/tools/hash/md5', { input }))).toEqual([400, ['unsupported algorithm md5']])
})

const POLICY =
  'length = 20\nrule "charset" { charset = "abcdef" min-chars = 1 }\nrule "charset" { charset = "0123456789" }\n'
const MISSING = '1 error occurred:\n\t* policy does not exist\n\n'

it('a password policy is written as text or in base64, listed, read and deleted', async () => {
  const at = 'sys/policies/password/long'
  expect(refusalOf(await root('LIST', 'sys/policies/password'))).toEqual([404, []])
  expect((await root('PUT', at, { policy: POLICY })).status).toBe(204)
  expect(
    (await root('POST', 'sys/policies/password/b', { policy: Buffer.from(POLICY).toString('base64') })).status,
  ).toBe(204)
  expect(dataOf(await root('LIST', 'sys/policies/password'))).toEqual({ keys: ['b', 'long'] })
  for (const name of ['long', 'b']) {
    expect(dataOf(await root('GET', `sys/policies/password/${name}`))).toEqual({ policy: POLICY })
  }
  expect((await root('DELETE', at)).status).toBe(204)
  expect(refusalOf(await root('GET', at))).toEqual([404, [MISSING]])
  expect(refusalOf(await root('GET', `${at}/generate`))).toEqual([404, [MISSING]])
})

it('generate returns a new password of the policy each time', async () => {
  await root('PUT', 'sys/policies/password/new', { policy: POLICY })
  const generate = async () => String(dataOf(await root('GET', 'sys/policies/password/new/generate')).password)
  const [one, two] = [await generate(), await generate()]
  expect(one).toMatch(/^(?=.*[a-f])[a-f0-9]{20}$/)
  expect(two).not.toBe(one)
})

it('a password policy that no password can match is rejected', async () => {
  const write = async (body: object) => refusalOf(await root('PUT', 'sys/policies/password/bad', body))
  const one = (text: string) => [400, [`1 error occurred:\n\t* ${text}\n\n`]]
  expect(await write({})).toEqual(one('missing policy'))
  expect(await write({ policy: 'length = 3 rule "charset" { charset = "ab" }' })).toEqual(
    one('passwords must be between 4 and 100 characters'),
  )
  const rare = 'length = 50 rule "charset" { charset = "a" min-chars = 50 } rule "charset" { charset = "bcdefgh" }'
  expect(await write({ policy: rare })).toEqual(
    one('unable to generate password from provided policy in 10000 attempts: are the rules impossible?'),
  )
  expect((await root('GET', 'sys/policies/password/bad')).status).toBe(404)
})

it('each namespace has its own password policies, which are deleted with it', async () => {
  await root('POST', 'sys/namespaces/team')
  const team = as(server.address, server.rootToken, { 'X-Vault-Namespace': 'team' })
  expect((await team('PUT', 'sys/policies/password/own', { policy: POLICY })).status).toBe(204)
  expect((await root('GET', 'sys/policies/password/own')).status).toBe(404)
  expect(dataOf(await team('GET', 'sys/policies/password/own/generate')).password).toHaveLength(20)
  await root('DELETE', 'sys/namespaces/team')
})

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
    auth: ['approle', 'cert', 'jwt', 'userpass'],
    database: ['postgresql-database-plugin'],
    secret: ['database', 'kv', 'pki', 'transit'],
  })
  const version = expect.stringMatching(/^v\d+\.\d+\.\d+\+builtin\.vault$/)
  const facts = { builtin: true, deprecation_status: 'supported', version }
  expect(detailed).toHaveLength(9)
  expect(detailed).toContainEqual({ ...facts, name: 'kv', type: 'secret' })
  expect(dataOf(await root('LIST', 'sys/plugins/catalog/auth'))).toEqual({
    keys: ['approle', 'cert', 'jwt', 'userpass'],
  })
  const kv = await root('GET', 'sys/plugins/catalog/secret/kv')
  expect(dataOf(kv)).toEqual({ ...facts, name: 'kv', args: null, command: '', sha256: '' })
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
