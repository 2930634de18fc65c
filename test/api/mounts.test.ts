import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OpenServerProcess, startOpenServerProcess } from '../support/server-process.js'
import { as, authOf, dataOf, DENIED, refusalOf, UNSUPPORTED_OPERATION, wrapInfoOf } from '../support/wire.js'

/** Parts of mounts, leases and wrapping that the recorded flows omit: moves, old names, wrapping tokens as JWT. */
let server: OpenServerProcess
let root: ReturnType<typeof as>

beforeAll(async () => {
  server = await startOpenServerProcess()
  root = as(server.address, server.rootToken)
  await root('POST', 'sys/auth/userpass', { type: 'userpass' })
  await root('POST', 'auth/userpass/users/ann', { password: 'pw' })
})
afterAll(() => server?.[Symbol.asyncDispose]())

const loginAt = async (mount: string): Promise<string> =>
  String(authOf(await root('PUT', `auth/${mount}/login/ann`, { password: 'pw' })).client_token)

const isGood = async (token: string): Promise<boolean> =>
  (await as(server.address, token)('GET', 'auth/token/lookup-self')).status === 200

describe('sys/remount', () => {
  it('sys/remount moves a secrets engine with its data, and reports the move afterwards', async () => {
    await root('POST', 'sys/mounts/a/b', { type: 'kv' })
    await root('PUT', 'a/b/x', { word: 'kept' })
    const moved = await root('POST', 'sys/remount', { from: 'a/b', to: 'c/d/' })
    const { migration_id } = dataOf(moved)
    expect(moved.json?.migration_id).toBe(migration_id)
    expect(dataOf(await root('GET', `sys/remount/status/${migration_id}`))).toEqual({
      migration_id,
      migration_info: { source_mount: 'a/b/', target_mount: 'c/d/', status: 'success' },
    })
    expect(dataOf(await root('GET', 'c/d/x'))).toEqual({ word: 'kept' })
    expect((await root('GET', 'a/b/x')).status).toBe(404)
  })

  it('sys/remount moves an auth method and revokes its tokens', async () => {
    await root('POST', 'sys/auth/from', { type: 'userpass' })
    await root('POST', 'auth/from/users/ann', { password: 'pw' })
    const token = await loginAt('from')
    expect(await isGood(token)).toBe(true)
    expect((await root('POST', 'sys/remount', { from: 'auth/from', to: 'auth/to' })).status).toBe(200)
    expect(await isGood(token)).toBe(false)
    expect(await isGood(await loginAt('to'))).toBe(true)
  })

  it.each([
    [{}, "both 'from' and 'to' path must be specified as a string"],
    [{ from: 'none', to: 'x' }, 'no matching mount at "none/"'],
    [{ from: 'c/d', to: 'auth/x' }, 'cannot remount to destination auth/x/'],
    [{ from: 'cubbyhole', to: 'x' }, 'cannot remount "cubbyhole/"'],
    [{ from: 'c/d', to: 'cubbyhole' }, 'path already in use at "cubbyhole/"'],
    [{ from: 'c/d', to: 'sys/x' }, 'cannot remount to destination sys/x/'],
    [{ from: 'auth/userpass', to: 'x' }, 'cannot remount auth mount to non-auth mount "x/"'],
    [{ from: 'auth/userpass', to: 'auth/to' }, 'path already in use at "to/"'],
    [{ from: 'c/d', to: 'c/d' }, 'path already in use at "c/d/"'],
    [{ from: 'c/d', to: 'c/d/e' }, 'path already in use at "c/d/"'],
  ])('sys/remount rejects %j', async (body, text) => {
    expect(refusalOf(await root('POST', 'sys/remount', body))).toEqual([400, [text]])
  })

  it('sys/remount/status rejects an unknown move, and requires sudo', async () => {
    expect((await root('GET', 'sys/remount/status/none')).status).toBe(404)
    await root('PUT', 'sys/policies/acl/mover', { policy: 'path "sys/remount" { capabilities = ["update"] }' })
    const { client_token } = authOf(await root('POST', 'auth/token/create', { policies: ['mover'] }))
    const weak = as(server.address, String(client_token))
    expect(refusalOf(await weak('POST', 'sys/remount', { from: 'c/d', to: 'e' }))).toEqual([403, [DENIED]])
  })

  it('a rejected sys/remount does not move the mount', async () => {
    expect(dataOf(await root('GET', 'c/d/x'))).toEqual({ word: 'kept' })
  })
})

describe('an auth method that is mounted again', () => {
  it('a method that is mounted again does not bring back the tokens of its predecessor', async () => {
    await root('POST', 'sys/auth/again', { type: 'userpass' })
    await root('POST', 'auth/again/users/ann', { password: 'pw' })
    const token = await loginAt('again')
    await root('DELETE', 'sys/auth/again')
    await root('POST', 'sys/auth/again', { type: 'userpass' })
    expect(await isGood(token)).toBe(false)
    expect((await root('GET', 'auth/again/users/ann')).status).toBe(404)
  })
})

describe('leases by their old names', () => {
  const leaseOf = async (): Promise<{ lease: string; token: string }> => {
    const token = await loginAt('userpass')
    const { keys } = dataOf(await root('LIST', 'sys/leases/lookup/auth/userpass/login/ann'))
    return { lease: `auth/userpass/login/ann/${keys.at(-1)}`, token }
  }

  it('sys/renew rejects token leases, which only auth/token renews', async () => {
    const { lease } = await leaseOf()
    const text = 'tokens cannot be renewed through this endpoint'
    expect(refusalOf(await root('PUT', 'sys/renew', { lease_id: lease }))).toEqual([400, [text]])
    expect(refusalOf(await root('PUT', `sys/renew/${lease}`))).toEqual([400, [text]])
    expect(refusalOf(await root('PUT', 'sys/renew', {}))).toEqual([400, ['lease_id must be specified']])
    expect(refusalOf(await root('PUT', 'sys/renew', { lease_id: 'none' }))).toEqual([400, ['lease not found']])
  })

  it.each([
    ['in the body', (lease: string) => ['sys/revoke', { lease_id: lease }, 204] as const],
    ['in the path', (lease: string) => [`sys/revoke/${lease}`, undefined, 204] as const],
    ['without waiting', (lease: string) => ['sys/leases/revoke', { lease_id: lease, sync: false }, 202] as const],
    ['by prefix', () => ['sys/revoke-prefix/auth/userpass/login', undefined, 204] as const],
  ])('revocation of a lease by an old path revokes its token: %s', async (_, make) => {
    const { lease } = await leaseOf()
    const [target, body, status] = make(lease)
    expect((await root('PUT', target, body)).status).toBe(status)
    expect(refusalOf(await root('PUT', 'sys/leases/lookup', { lease_id: lease }))).toEqual([400, ['invalid lease']])
  })

  it('sys/renew rejects a read', async () => {
    expect(refusalOf(await root('GET', 'sys/renew'))).toEqual([405, [UNSUPPORTED_OPERATION]])
  })
})

describe('wrapping tokens as JWT', () => {
  const wrapAsJwt = async () => {
    const headers = { 'X-Vault-Wrap-TTL': '60', 'X-Vault-Wrap-Format': 'jwt' }
    return wrapInfoOf(await root('POST', 'sys/wrapping/wrap', { word: 'hidden' }, headers))
  }

  it('a JWT wrapping token has an ES512 signature and names its server and its times', async () => {
    const { token } = await wrapAsJwt()
    const [header, claims] = String(token)
      .split('.')
      .slice(0, 2)
      .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()))
    expect(header.alg).toBe('ES512')
    expect(claims).toMatchObject({
      accessor: '',
      type: 'wrapping',
      addr: server.address,
      jti: expect.stringMatching(/^hvs\./),
    })
    expect([claims.exp - claims.iat, claims.iat - claims.nbf]).toEqual([60, 5])
  })

  it.each(['header', 'body'])('a JWT wrapping token in the %s unwraps exactly once', async (where) => {
    const { token } = await wrapAsJwt()
    const [ask, body] =
      where === 'header' ? [as(server.address, String(token)), undefined] : [as(server.address, ''), { token }]
    expect(dataOf(await ask('POST', 'sys/wrapping/lookup', body))).toMatchObject({ creation_ttl: 60 })
    const by = where === 'header' ? ask : root
    expect(dataOf(await by('PUT', 'sys/wrapping/unwrap', body))).toEqual({ word: 'hidden' })
    expect(refusalOf(await by('PUT', 'sys/wrapping/unwrap', body))).toEqual([
      400,
      ['wrapping token is not valid or does not exist'],
    ])
  })

  it('the token inside a JWT wrapping token does not work alone', async () => {
    const { token } = await wrapAsJwt()
    const { jti } = JSON.parse(Buffer.from(String(token).split('.')[1] ?? '', 'base64url').toString())
    const bare = as(server.address, String(jti))
    expect((await bare('PUT', 'sys/wrapping/unwrap')).status).toBe(400)
    expect((await root('PUT', 'sys/wrapping/unwrap', { token: jti })).status).toBe(400)
    expect((await root('PUT', 'sys/wrapping/lookup', { token: jti })).status).toBe(400)
    expect((await root('PUT', 'sys/wrapping/rewrap', { token: jti })).status).toBe(400)
    for (const path of ['cubbyhole/response', 'auth/token/lookup-self'])
      expect((await bare('GET', path)).status).toBe(403)
    expect((await root('PUT', 'auth/token/revoke', { token: jti })).status).toBe(204)
    expect(dataOf(await root('PUT', 'sys/wrapping/unwrap', { token }))).toEqual({ word: 'hidden' })
  })

  it('unwrap rejects a JWT wrapping token with a forged signature', async () => {
    const { token } = await wrapAsJwt()
    const [header = '', claims = '', signature = ''] = String(token).split('.')
    const forged = `${header}.${claims}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`
    expect((await root('PUT', 'sys/wrapping/unwrap', { token: forged })).status).toBe(400)
    expect(dataOf(await root('PUT', 'sys/wrapping/unwrap', { token }))).toEqual({ word: 'hidden' })
  })
})
