import { beforeEach, describe, expect, it } from 'vitest'
import { isAddressAllowed } from '../../../src/core/tokens/token-record.js'
import { LogicalError } from '../../../src/logical/errors.js'
import type { RenewalTimes } from '../../../src/logical/request.js'
import { refusal } from '../../support/backend-harness.js'
import { DEFAULT_TTL, TokenWorld } from '../../support/token-world.js'

let world: TokenWorld
beforeEach(async () => {
  world = await TokenWorld.open()
})

describe('the token of a login', () => {
  it('the token of a login is an orphan with the policies of the role, default, and the metadata', async () => {
    const { auth, warnings } = await world.login({ policies: ['Zed', ' abc ', 'ABC', ''] })
    expect(auth).toMatchObject({
      policies: ['abc', 'default', 'zed'],
      tokenPolicies: ['abc', 'default', 'zed'],
      metadata: { role_name: 'r' },
      leaseDurationSeconds: DEFAULT_TTL,
      renewable: true,
      tokenType: 'service',
      orphan: true,
      numUses: 0,
    })
    expect(warnings).toEqual([])
    expect(await world.lookup(auth.clientToken)).toMatchObject({
      display_name: 'approle',
      path: 'auth/approle/login',
      meta: { role_name: 'r' },
      entity_id: auth.entityId,
    })
  })

  it('the token of a login may have no policy', async () => {
    expect((await world.login({ policies: [], noDefaultPolicy: true })).auth.policies).toEqual([])
  })

  it.each([
    ['root', 'auth methods cannot create root tokens'],
    ['response-wrapping', 'cannot assign policy "response-wrapping"'],
  ])('a login with the policy %s is rejected and creates no entity', async (policy, text) => {
    expect(await refusal(world.login({ policies: [policy, 'x'] }))).toEqual(['invalid-request', text])
    expect(await world.shared.identity.keys('')).toEqual([])
  })

  it('the token of a login shows mount and user in its display name', async () => {
    const { auth } = await world.login({ displayName: 'joe' }, { path: 'auth/team/userpass/' })
    expect((await world.lookup(auth.clientToken)).display_name).toBe('team-userpass-joe')
  })

  it('a login warns if it shortened the ttl', async () => {
    const { auth, warnings } = await world.login({ ttlSeconds: 3600, explicitMaxTtlSeconds: 1800 })
    expect(auth.leaseDurationSeconds).toBe(1800)
    expect(warnings).toEqual(['TTL of "1h" exceeded the effective max_ttl of "30m"; TTL value is capped accordingly'])
    expect(await world.lookup(auth.clientToken)).toMatchObject({ creation_ttl: 1800, explicit_max_ttl: 1800 })
  })

  it('the token of a login with a period shows it', async () => {
    const { auth } = await world.login({ periodSeconds: 900, ttlSeconds: 60 })
    expect(await world.lookup(auth.clientToken)).toMatchObject({ period: 900, creation_ttl: 900 })
  })
})

describe('its type', () => {
  it.each([
    ['default-service', 'default', 'service'],
    ['default-service', 'batch', 'batch'],
    ['default-batch', 'default', 'batch'],
    ['default-batch', 'service', 'service'],
    ['service', 'batch', 'service'],
    ['batch', 'service', 'batch'],
    [undefined, 'default', 'service'],
  ] as const)('a mount tuned to %s and a role with %s issue %s', async (tokenType, asked, made) => {
    const { auth } = await world.login({ tokenType: asked }, { tokenType })
    expect(auth.tokenType).toBe(made)
    expect([auth.accessor === '', auth.renewable]).toEqual([made === 'batch', made === 'service'])
    expect(auth.clientToken.startsWith(made === 'batch' ? 'hvb.' : 'hvs.')).toBe(true)
  })

  it('a batch token cannot have limited uses', async () => {
    const [, text] = await refusal(world.login({ numUses: 2 }, { tokenType: 'batch' }))
    expect(text).toBe('batch tokens cannot have "num_uses" set')
  })
})

describe('its entity', () => {
  it('every login of one alias has the same entity', async () => {
    const [one, two] = await Promise.all([world.login(), world.login()])
    const other = await world.login({ alias: { name: 'role-id-2', metadata: {} } })
    expect(one.auth.entityId).toMatch(/^[0-9a-f-]{36}$/)
    expect(two.auth.entityId).toBe(one.auth.entityId)
    expect(other.auth.entityId).not.toBe(one.auth.entityId)
  })

  it('a login at a local mount has no entity', async () => {
    const { auth } = await world.login({}, { view: { ...world.mountTtls, isLocal: true } })
    expect(auth.entityId).toBe('')
    expect(await world.shared.identity.keys('')).toEqual([])
  })

  it('a login with a new alias fails if shared data is read-only, and a known alias succeeds', async () => {
    await world.login()
    world.shared.identity.writeError = new LogicalError('read-only', 'forward it')
    await expect(world.login()).resolves.toBeDefined()
    const changed = { alias: { name: 'role-id-1', metadata: { role_name: 'r', more: 'x' } } }
    await expect(world.login(changed)).resolves.toBeDefined()
    const before = await world.keyCount()
    expect((await refusal(world.login({ alias: { name: 'new', metadata: {} } })))[0]).toBe('read-only')
    expect(await world.keyCount()).toBe(before)
  })
})

describe('the address of whoever uses it', () => {
  it('the address of a client must be in one of the bound blocks of its token', async () => {
    const { auth } = await world.login({ boundCidrs: ['10.0.0.0/8', '127.0.0.1', '2001:db8::/32'] })
    const entry = world.entry(auth.clientToken)
    const allowed = (address: string) => isAddressAllowed(entry, address)
    expect(['10.1.2.3', '127.0.0.1', '::ffff:10.0.0.1', '2001:db8::1'].map(allowed)).toEqual([true, true, true, true])
    expect(['11.0.0.1', '127.0.0.2', '::1', ''].map(allowed)).toEqual([false, false, false, false])
  })

  it('a token without bound blocks works from any address', async () => {
    expect(isAddressAllowed(world.entry(world.root), '8.8.8.8')).toBe(true)
  })
})

describe('renewal of a login', () => {
  const renew = async (token: string, incrementSeconds = 0) =>
    world.tokens.renew(world.entry(token), { incrementSeconds, presented: token, request: {} })
  const roleSays = (times: RenewalTimes) => world.logins.set('auth/approle/login', () => times)

  it('renewal of a login follows the current role', async () => {
    const { auth } = await world.login({ ttlSeconds: 3600 })
    roleSays({ ttlSeconds: 600 })
    expect((await renew(auth.clientToken)).auth).toMatchObject({
      leaseDurationSeconds: 600,
      clientToken: auth.clientToken,
    })
    expect((await renew(auth.clientToken, 900)).auth.leaseDurationSeconds).toBe(900)
    roleSays({ ttlSeconds: 600, maxTtlSeconds: 700 })
    expect((await renew(auth.clientToken, 900)).auth.leaseDurationSeconds).toBe(700)
  })

  it('renewal of a login keeps the issued explicit maximum', async () => {
    const { auth } = await world.login({ ttlSeconds: 3600, explicitMaxTtlSeconds: 7200 })
    roleSays({ explicitMaxTtlSeconds: 60 })
    const renewed = await renew(auth.clientToken, 5000)
    expect(renewed.auth).toMatchObject({ policies: ['default'], numUses: 0, leaseDurationSeconds: 5000 })
  })

  it('a new period of a role applies to renewals without being shown, and a removed one restores the maximum TTL', async () => {
    const { auth } = await world.login({ ttlSeconds: 3600, maxTtlSeconds: 7200 })
    roleSays({ periodSeconds: 600, maxTtlSeconds: 7200 })
    for (let hour = 0; hour < 40; hour++) {
      expect((await renew(auth.clientToken, 5000)).auth.leaseDurationSeconds).toBe(600)
      world.clock.advance(500_000)
    }
    expect(await world.lookup(auth.clientToken)).not.toHaveProperty('period')
    roleSays({ periodSeconds: 0, ttlSeconds: 3600, maxTtlSeconds: 7200 })
    expect(await refusal(renew(auth.clientToken))).toEqual(['invalid-request', 'past the max TTL, cannot renew'])
  })

  it('renewal of a login fails with the error of the backend without the role, and the token lives to its end', async () => {
    const { auth } = await world.login({ ttlSeconds: 3600 })
    world.logins.set('auth/approle/login', () => {
      throw new LogicalError('invalid-request', 'role "x" does not exist during renewal')
    })
    expect((await refusal(renew(auth.clientToken)))[1]).toBe('role "x" does not exist during renewal')
    expect(world.tokens.find(auth.clientToken)).toBeDefined()
  })

  it('renewal does not revive a token that was revoked meanwhile', async () => {
    const { auth } = await world.login({ ttlSeconds: 3600 })
    const entry = world.entry(auth.clientToken)
    await world.tokens.revokeTree(entry)
    const late = world.tokens.renew(entry, { incrementSeconds: 60, presented: auth.clientToken, request: {} })
    expect(await refusal(late)).toEqual(['invalid-request', 'token not found'])
    expect(world.tokens.find(auth.clientToken)).toBeUndefined()
  })
})

describe('a wrapping token', () => {
  it('a wrapping token has one use, one policy, an end, and its records in its cubbyhole from the start', async () => {
    const entry = await world.tokens.issueWrapping({
      ttlSeconds: 60,
      creationPath: 'secret/data/a',
      namespace: { id: 'root', path: '' },
      records: { response: Buffer.from('{"a":1}') },
    })
    const presented = world.tokens.present(entry)
    expect(await world.lookup(presented)).toMatchObject({
      creation_ttl: 60,
      display_name: '',
      explicit_max_ttl: 60,
      meta: null,
      num_uses: 1,
      orphan: true,
      path: 'secret/data/a',
      policies: ['response-wrapping'],
      renewable: false,
      type: 'service',
    })
    const key = `cubbyhole/${world.tokens.storageIdOf(entry)}/response`
    expect(world.storage.get(key)?.toString()).toBe('{"a":1}')
    world.clock.advance(60_000)
    expect(world.tokens.find(presented)).toBeUndefined()
    await world.tokens.sweep()
    expect(world.storage.get(key)).toBeUndefined()
  })
})
