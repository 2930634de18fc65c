import { beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/logical/json.js'
import { refusal } from '../../support/backend-harness.js'
import { TEAM, TokenWorld } from '../../support/token-world.js'

let world: TokenWorld
let token: string
let accessor: string
beforeEach(async () => {
  world = await TokenWorld.open()
  const made = await world.create({ policies: ['default'], ttl: '20m', explicit_max_ttl: '1h' })
  token = made.clientToken
  accessor = made.accessor
})

const put = (path: string, body: JsonObject = {}, as?: string) =>
  world.call('update', path, as === undefined ? { body } : { body, as })

const SHOWN = {
  creation_time: 1_700_000_000,
  creation_ttl: 1200,
  display_name: 'token',
  entity_id: '',
  expire_time: '2023-11-14T22:33:19.999995000Z',
  explicit_max_ttl: 3600,
  issue_time: '2023-11-14T22:13:20.000000000Z',
  meta: null,
  num_uses: 0,
  orphan: false,
  path: 'auth/token/create',
  policies: ['default'],
  renewable: true,
  ttl: 1200,
  type: 'service',
}

describe('lookup', () => {
  it('token lookup shows the same by token, by accessor and for itself, and the id only to a caller with the token', async () => {
    expect((await put('lookup', { token }))?.data).toEqual({ ...SHOWN, accessor, id: token })
    expect((await world.call('read', 'lookup', { body: { token } }))?.data).toEqual({ ...SHOWN, accessor, id: token })
    expect((await put('lookup-accessor', { accessor }))?.data).toEqual({ ...SHOWN, accessor, id: '' })
    expect((await world.call('read', 'lookup-self', { as: token }))?.data).toEqual({ ...SHOWN, accessor, id: token })
    expect((await put('lookup', {}, token))?.data).toEqual({ ...SHOWN, accessor, id: token })
  })

  it('token lookup repeats the token in the presented form', async () => {
    const { id } = world.entry(token)
    expect((await world.lookup(id)).id).toBe(id)
  })

  it('token lookup shows a root token without an end', async () => {
    expect(await world.lookup(world.root)).toMatchObject({
      ttl: 0,
      expire_time: null,
      renewable: false,
      creation_ttl: 0,
    })
  })

  it('token lookup shows a batch token, which has no accessor', async () => {
    const batch = await world.create({ policies: ['default'], type: 'batch', ttl: '20m' })
    expect(await world.lookup(batch.clientToken)).toEqual({
      ...SHOWN,
      accessor: '',
      explicit_max_ttl: 0,
      id: batch.clientToken,
      renewable: false,
      type: 'batch',
    })
  })

  it('token lookup rejects invalid tokens', async () => {
    expect(await refusal(put('lookup', { token: 'nonsense' }))).toEqual(['permission-denied', 'bad token'])
    expect(await refusal(put('lookup-accessor', { accessor: 'nonsense' }))).toEqual([
      'invalid-request',
      'invalid accessor',
    ])
    expect(await refusal(put('lookup-accessor'))).toEqual(['invalid-request', 'missing accessor'])
    world.clock.advance(1_200_000)
    expect((await refusal(put('lookup', { token })))[1]).toBe('bad token')
  })

  it('token lookup sees tokens of child namespaces and none of parents', async () => {
    const below = await world.create({ policies: ['default'] }, { namespace: TEAM })
    expect(await world.lookup(below.clientToken)).toMatchObject({ namespace_path: 'team/' })
    const inside = (path: string, body: JsonObject) => world.call('update', path, { body, namespace: TEAM })
    expect((await refusal(inside('lookup', { token })))[1]).toBe('bad token')
    expect((await refusal(inside('lookup-accessor', { accessor })))[1]).toBe('invalid accessor')
    expect(await inside('revoke', { token })).toBeUndefined()
    expect(world.tokens.find(token)).toBeDefined()
  })
})

describe('accessors', () => {
  it('LIST of accessors needs sudo and shows one namespace', async () => {
    const below = await world.create({ policies: ['default'] }, { namespace: TEAM })
    const keys = (await world.call('list', 'accessors/'))?.data as { keys: string[] }
    expect(keys.keys.sort()).toEqual([accessor, world.entry(world.root).accessor].sort())
    expect((await world.call('list', 'accessors/', { namespace: TEAM }))?.data).toEqual({ keys: [below.accessor] })
    expect(world.backend.rules?.find('accessors/')).toEqual({ access: 'sudo' })
  })
})

describe('renewal', () => {
  const renew = async (path: string, body: JsonObject, as?: string) => {
    const response = await put(path, body, as)
    return { ...response?.auth, warnings: response?.warnings }
  }

  it('token renewal grants the increment or the last ttl, up to the explicit maximum', async () => {
    const self = (body: JsonObject) => renew('renew-self', body, token)
    expect(await self({ increment: '30m' })).toMatchObject({
      leaseDurationSeconds: 1800,
      clientToken: token,
      warnings: [],
    })
    expect((await self({})).leaseDurationSeconds).toBe(1800)
    expect(await self({ increment: '3h' })).toMatchObject({
      leaseDurationSeconds: 3600,
      warnings: ['TTL of "3h" exceeded the effective max_ttl of "1h"; TTL value is capped accordingly'],
    })
    expect((await renew('renew', { token, increment: 600 })).leaseDurationSeconds).toBe(600)
    expect(await renew('renew-accessor', { accessor, increment: '15m' })).toMatchObject({
      leaseDurationSeconds: 900,
      clientToken: '',
      accessor,
    })
    world.clock.advance(500)
    expect(await world.lookup(token)).toMatchObject({
      creation_ttl: 1200,
      ttl: 900,
      last_renewal: '2023-11-14T22:13:20.000000000Z',
      last_renewal_time: 1_700_000_000,
    })
  })

  it('renewal of a periodic token ignores the increment and never reaches an end', async () => {
    const periodic = (await world.create({ policies: ['default'], period: '20m' })).clientToken
    for (let day = 0; day < 60; day++) {
      expect((await renew('renew-self', { increment: '5m' }, periodic)).leaseDurationSeconds).toBe(1200)
      world.clock.advance(1_000_000)
    }
    expect((await world.lookup(periodic)).period).toBe(1200)
  })

  it('token renewal fails with the reason', async () => {
    const fixed = (await world.create({ policies: ['default'], ttl: '20m', renewable: false })).clientToken
    const batch = (await world.create({ policies: ['default'], type: 'batch' })).clientToken
    const text = async (path: string, body: JsonObject = {}, as?: string) => (await refusal(put(path, body, as)))[1]
    expect(await text('renew', { token: 'nonsense' })).toBe('token not found')
    expect(await text('renew')).toBe('missing token ID')
    expect(await text('renew-accessor', { accessor: 'nonsense' })).toBe('invalid accessor')
    expect(await text('renew-accessor')).toBe('missing accessor')
    expect(await text('renew-self', {}, fixed)).toBe('lease is not renewable')
    expect(await text('renew', { token: world.root })).toBe('invalid lease ID')
    expect(await text('renew-self', {}, batch)).toBe('batch tokens cannot be renewed')
    expect(await text('renew-self', { increment: 'soon' }, token)).toMatch(
      /^Field validation failed: error converting input for field "increment": /,
    )
  })
})

describe('revocation', () => {
  it.each([
    ['revoke', () => put('revoke', { token })],
    ['revoke by PUT of oneself', () => put('revoke-self', {}, token)],
    ['revoke-accessor', () => put('revoke-accessor', { accessor })],
    ['revoke-orphan', () => put('revoke-orphan', { token })],
  ])('%s revokes the token and answers nothing', async (_name, revoke) => {
    expect(await revoke()).toBeUndefined()
    expect(world.tokens.find(token)).toBeUndefined()
    expect(world.tokens.findByAccessor(accessor)).toBeUndefined()
  })

  it('revocation of an unknown token succeeds, except by revoke-orphan', async () => {
    expect(await put('revoke', { token: 'nonsense' })).toBeUndefined()
    expect((await put('revoke-accessor', { accessor: 'nonsense' }))?.warnings).toEqual([
      'No token found with this accessor',
    ])
    expect((await refusal(put('revoke-orphan', { token: 'nonsense' })))[1]).toBe('token to revoke not found')
  })

  it('revocation needs a token, and rejects a batch token', async () => {
    const batch = (await world.create({ policies: ['default'], type: 'batch' })).clientToken
    for (const path of ['revoke', 'revoke-orphan']) {
      expect((await refusal(put(path)))[1]).toBe('missing token ID')
      expect((await refusal(put(path, { token: batch })))[1]).toBe('batch tokens cannot be revoked')
    }
    expect((await refusal(put('revoke-self', {}, batch)))[1]).toBe('batch tokens cannot be revoked')
    expect((await refusal(put('revoke-accessor')))[1]).toBe('missing accessor')
  })

  it('revocation without the children needs sudo, with its own error text', async () => {
    expect(await refusal(put('revoke-orphan', { token }, token))).toEqual([
      'invalid-request',
      'root or sudo privileges required to revoke and orphan',
    ])
  })

  it('no token path contains a token or an accessor', async () => {
    for (const path of [`revoke/${token}`, `lookup/${token}`, `renew/${token}`, `revoke-accessor/${accessor}`]) {
      expect((await refusal(put(path)))[0]).toBe('unsupported-path')
    }
  })
})
