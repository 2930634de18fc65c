import bcrypt from 'bcrypt'
import { beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../../src/logical/json.js'
import { type BackendHarness, dataOf, EMPTY_TOKEN_FIELDS, refusal } from '../../../support/backend-harness.js'
import { makeUserpass } from '../../../unit/auth/userpass/userpass-mount.js'

describe('users of userpass', () => {
  let userpass: BackendHarness
  beforeEach(() => {
    userpass = makeUserpass()
  })

  const put = (body: JsonObject, name = 'ann') => userpass.write(`users/${name}`, body)
  const read = async (name = 'ann') => dataOf(await userpass.read(`users/${name}`))
  const login = (password: string, name = 'ann') => userpass.write(`login/${name}`, { password })

  it('a userpass user is created with a password and read back without it', async () => {
    expect(await put({ password: 'secret' })).toBeUndefined()
    expect(await read()).toEqual(EMPTY_TOKEN_FIELDS)
    expect(JSON.stringify(await userpass.storage.keys(''))).toContain('user/ann')
  })

  it('userpass stores no password', async () => {
    await put({ password: 'a very secret word' })
    expect(userpass.storage.get('user/ann')?.toString()).not.toContain('secret word')
  })

  it('a userpass user needs a password at creation and keeps it later', async () => {
    expect(await refusal(put({}))).toEqual(['invalid-request', 'missing password'])
    await put({ password: 'secret' })
    await put({ token_ttl: '1h' })
    expect(await read()).toEqual({ ...EMPTY_TOKEN_FIELDS, token_ttl: 3600 })
    expect(await login('secret')).toBeDefined()
  })

  it.each(['2a', '2b', '2y'])('userpass accepts a bcrypt hash that begins with $%s$', async (variant) => {
    const hash = (await bcrypt.hash('secret', 4)).replace('$2b$', `$${variant}$`)
    await put({ password_hash: hash })
    expect(await login('secret')).toBeDefined()
    expect((await refusal(login('other')))[1]).toBe('invalid username or password')
  })

  it('userpass rejects other hashes, a cost beyond 14, and a hash together with a password', async () => {
    expect((await refusal(put({ password_hash: 'secret' })))[0]).toBe('invalid-request')
    expect((await refusal(put({ password_hash: '$2b$32$'.padEnd(60, '.') })))[0]).toBe('invalid-request')
    expect(await refusal(put({ password_hash: `$2b$15$${'a'.repeat(53)}` }))).toEqual([
      'invalid-request',
      '"password_hash" has a cost of more than 14',
    ])
    expect((await refusal(put({ password: 'a', password_hash: 'b' })))[0]).toBe('invalid-request')
    expect(await userpass.list('users')).toBeUndefined()
  })

  it('userpass rejects a password that bcrypt would truncate', async () => {
    expect((await refusal(put({ password: 'é'.repeat(37) })))[0]).toBe('invalid-request')
    expect(await put({ password: 'é'.repeat(36) })).toBeUndefined()
  })

  it('userpass names are the same in upper and lower case', async () => {
    await put({ password: 'secret' }, 'Ann')
    expect(await read('aNN')).toEqual(EMPTY_TOKEN_FIELDS)
    expect(dataOf(await userpass.list('users'))).toEqual({ keys: ['ann'] })
  })

  it('userpass rejects invalid user names', async () => {
    expect(await refusal(put({ password: 'secret' }, '-ann'))).toEqual(['unsupported-path', 'unsupported path'])
    expect(await refusal(put({ password: 'secret' }, 'ann.'))).toEqual(['unsupported-path', 'unsupported path'])
    expect(await put({ password: 'secret' }, 'a.n-n_1')).toBeUndefined()
  })

  it('userpass shows the deprecated fields of a user if they were written last', async () => {
    await put({ password: 'secret', policies: 'B,a', ttl: '1h', max_ttl: '2h', bound_cidrs: '127.0.0.1/32' })
    expect(await read()).toEqual({
      ...EMPTY_TOKEN_FIELDS,
      token_policies: ['a', 'b'],
      token_ttl: 3600,
      token_max_ttl: 7200,
      token_bound_cidrs: ['127.0.0.1'],
      policies: ['a', 'b'],
      ttl: 3600,
      max_ttl: 7200,
      bound_cidrs: ['127.0.0.1'],
    })
    await put({ token_policies: ['c'], token_ttl: 60, token_max_ttl: 120, token_bound_cidrs: '' })
    expect(await read()).toEqual({ ...EMPTY_TOKEN_FIELDS, token_policies: ['c'], token_ttl: 60, token_max_ttl: 120 })
  })

  it('userpass validates deprecated fields like the current ones', async () => {
    expect((await refusal(put({ password: 'secret', ttl: '2h', max_ttl: '1h' })))[1]).toContain("'token_ttl'")
    expect((await refusal(put({ password: 'secret', bound_cidrs: 'x' })))[1]).toMatch(/^error parsing address "x"/)
  })

  it('userpass passes on the warnings of token types', async () => {
    expect(await put({ password: 'secret', token_type: 'default-batch' })).toEqual({
      warnings: ['default-batch has no useful meaning; adjusting to batch'],
    })
  })

  it('a userpass password changes alone', async () => {
    await put({ password: 'secret', token_ttl: 60 })
    expect(await userpass.write('users/ann/password', { password: 'other' })).toBeUndefined()
    expect(await login('other')).toBeDefined()
    expect((await refusal(login('secret')))[0]).toBe('invalid-request')
    expect(await read()).toMatchObject({ token_ttl: 60 })
    expect((await refusal(userpass.write('users/ann/password', {})))[1]).toBe('missing password')
    expect((await refusal(userpass.write('users/none/password', { password: 'x' })))[0]).toBe('invalid-request')
  })

  it('the policies of a userpass user change alone', async () => {
    await put({ password: 'secret', token_ttl: 60 })
    await userpass.write('users/ann/policies', { token_policies: ['x', 'y'] })
    expect(await read()).toEqual({ ...EMPTY_TOKEN_FIELDS, token_ttl: 60, token_policies: ['x', 'y'] })
    await userpass.write('users/ann/policies', { policies: 'Z' })
    expect(await read()).toMatchObject({ token_policies: ['z'], policies: ['z'] })
  })

  it('userpass users can be listed and deleted', async () => {
    await put({ password: 'secret' }, 'bob')
    await put({ password: 'secret' }, 'ann')
    expect(dataOf(await userpass.list('users'))).toEqual({ keys: ['ann', 'bob'] })
    expect(await userpass.call('delete', 'users/BOB')).toBeUndefined()
    expect(await userpass.call('delete', 'users/bob')).toBeUndefined()
    expect(await userpass.read('users/bob')).toBeUndefined()
  })
})
