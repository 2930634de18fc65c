import { beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/logical/json.js'
import { refusal } from '../../support/backend-harness.js'
import { DEFAULT_TTL, TEAM, TokenWorld } from '../../support/token-world.js'

let world: TokenWorld
/** A token with the create capability, a token with sudo, and the policies of both. */
let maker: string
let sudo: string
beforeEach(async () => {
  world = await TokenWorld.open()
  await world.policies.put('root', 'maker', 'path "auth/token/create" { capabilities = ["update"] }')
  await world.policies.put('root', 'boss', 'path "auth/token/create" { capabilities = ["update", "sudo"] }')
  maker = (await world.create({ policies: ['maker'], ttl: '1h' })).clientToken
  sudo = (await world.create({ policies: ['boss'], ttl: '1h' })).clientToken
})

const refused = async (body: JsonObject, as = world.root, path = 'create'): Promise<string> => {
  const [code, text] = await refusal(world.create(body, { as, path }))
  expect(code).toBe('invalid-request')
  return text
}

describe('a token created by root', () => {
  it('a token that root creates without policies has the policies of root', async () => {
    expect(await world.create({ ttl: '1h' })).toMatchObject({
      policies: ['root'],
      metadata: null,
      leaseDurationSeconds: 3600,
      renewable: true,
      entityId: '',
      tokenType: 'service',
      orphan: false,
      numUses: 0,
      warnings: [],
    })
  })

  it('token creation folds, trims and sorts policies, and warns of those that do not exist', async () => {
    const { policies, warnings } = await world.create({ policies: [' MAKER ', 'default', 'maker', 'another', ''] })
    expect(policies).toEqual(['another', 'default', 'maker'])
    expect(warnings).toEqual(['Policy "another" does not exist'])
  })

  it.each([
    [{ policies: ['root', 'maker'] }, ['root']],
    [{ policies: ['maker'] }, ['default', 'maker']],
    [{ policies: ['maker'], no_default_policy: true }, ['maker']],
    [{ policies: ['maker', 'default'], no_default_policy: true }, ['maker']],
    [{ policies: 'a,b' }, ['a,b', 'default']],
  ])('token creation with %j gives %j', async (body, policies) => {
    expect((await world.create(body)).policies).toEqual(policies)
  })

  it.each([
    [{ ttl: '20m' }, 1200],
    [{ ttl: 1200 }, 1200],
    [{ lease: '20m' }, 1200],
    [{ period: '45m' }, 2700],
    [{ period: '0' }, DEFAULT_TTL],
    [{ ttl: '', type: '', entity_alias: '' }, DEFAULT_TTL],
    [{ ttl: '1h', explicit_max_ttl: '30m' }, 1800],
    [{ period: '1000h' }, DEFAULT_TTL],
  ])('a token created with %j lives for %i seconds', async (body: JsonObject, seconds) => {
    expect((await world.create({ policies: ['default'], ...body })).leaseDurationSeconds).toBe(seconds)
  })

  it('token creation warns if it shortened the ttl', async () => {
    expect((await world.create({ policies: ['default'], ttl: '1000h' })).warnings).toEqual([
      'TTL of "1000h" exceeded the effective max_ttl of "768h"; TTL value is capped accordingly',
    ])
    expect((await world.create({ policies: ['default'], period: '1000h' })).warnings).toEqual([
      'period of "1000h" exceeded the effective max_ttl of "768h"; period value is capped accordingly',
    ])
  })

  it.each([
    ['', 'token'],
    ['Jo Smith!', 'token-Jo-Smith'],
    ['My!Token+*#Name', 'token-My-Token---Name'],
    ['a--', 'token-a-'],
  ])('a token with the display name %j is called %j', async (display_name, shown) => {
    const { clientToken } = await world.create({ policies: ['default'], display_name })
    expect((await world.lookup(clientToken)).display_name).toBe(shown)
  })

  it('a token with a chosen id is created with a warning, and only once', async () => {
    const { clientToken, warnings } = await world.create({ id: 'mine', policies: ['default'] })
    expect(clientToken).toBe('mine')
    expect(warnings[0]).toMatch(/^Supplying a custom ID for the token uses the weaker SHA1 hashing/)
    expect((await world.lookup('mine')).id).toBe('mine')
    expect(await refused({ id: 'mine', policies: ['default'] })).toBe('cannot create a token with a duplicate ID')
    const many = Array.from({ length: 10 }, () => world.create({ id: 'other', policies: ['default'] }))
    const results = await Promise.allSettled(many)
    expect(results.filter(({ status }) => status === 'fulfilled').length).toBe(1)
  })

  it.each([
    [{ no_parent: true }, 'create', true],
    [{}, 'create-orphan', true],
    [{}, 'create', false],
  ])('a token created with %j at %s: orphan %s', async (body, path, orphan) => {
    expect((await world.create({ policies: ['default'], ...body }, { path })).orphan).toBe(orphan)
  })

  it.each([
    [{ id: 'a.b', policies: ['default'] }, "custom token ID cannot have a '.' in the value"],
    [{ type: 'solid' }, "invalid 'token_type' value"],
    [{ ttl: '-1h' }, 'ttl must be positive'],
    [{ period: '-1h' }, 'period must be positive'],
    [{ explicit_max_ttl: '-1h' }, 'explicit_max_ttl must be positive'],
    [{ num_uses: -1 }, 'number of uses cannot be negative'],
    [{ policies: ['response-wrapping'] }, 'cannot assign policy "response-wrapping"'],
    [{ entity_alias: 'x' }, "'entity_alias' is only allowed in combination with token role"],
    [{ type: 'batch' }, 'batch tokens cannot be root tokens'],
    [{ type: 'batch', num_uses: 2, policies: ['default'] }, 'batch tokens cannot have "num_uses" set'],
    [{ type: 'batch', period: '10m', policies: ['default'] }, 'batch tokens cannot have "period" set'],
    [
      { type: 'batch', explicit_max_ttl: '10m', policies: ['default'] },
      'batch tokens cannot have "explicit_max_ttl" set',
    ],
  ])('token creation rejects %j: %s', async (body: JsonObject, text) => {
    expect(await refused(body)).toBe(text)
  })

  it.each(['ttl', 'period', 'explicit_max_ttl', 'lease'])('token creation rejects "soon" as %s', async (field) => {
    expect(await refused({ [field]: 'soon' })).toContain('soon')
  })
})

describe('a token created by one without rights of its own', () => {
  it('a token created by a token without sudo has no more policies than its parent', async () => {
    expect((await world.create({}, { as: maker })).policies).toEqual(['default', 'maker'])
    expect((await world.create({ policies: ['default'] }, { as: maker })).policies).toEqual(['default'])
    expect((await world.create({ policies: ['maker'] }, { as: maker })).policies).toEqual(['default', 'maker'])
    expect(await refused({ policies: ['boss'] }, maker)).toBe('child policies must be subset of parent')
    expect(await refused({ policies: ['root'] }, maker)).toBe('child policies must be subset of parent')
  })

  it.each([
    [{ id: 'own' }, 'root or sudo privileges required to specify token id'],
    [{ no_parent: true }, 'root or sudo privileges required to create orphan token'],
    [{ period: '10m' }, 'root or sudo privileges required to create periodic token'],
  ])('a token without sudo cannot request %j', async (body: JsonObject, text) => {
    expect(await refused(body, maker)).toBe(text)
  })

  it('a token without sudo may create an orphan if it may use that endpoint', async () => {
    const { orphan, policies } = await world.create({ policies: ['default'] }, { as: maker, path: 'create-orphan' })
    expect([orphan, policies]).toEqual([true, ['default']])
  })
})

describe('sudo', () => {
  it('sudo permits any policy except root, a custom ID, a period and orphans', async () => {
    expect((await world.create({ policies: ['maker'] }, { as: sudo })).policies).toEqual(['default', 'maker'])
    expect((await world.create({ id: 'own', policies: ['default'] }, { as: sudo })).clientToken).toBe('own')
    const orphan = await world.create({ period: '10m', no_parent: true, policies: ['default'] }, { as: sudo })
    expect([orphan.orphan, orphan.leaseDurationSeconds]).toEqual([true, 600])
    expect(await refused({ policies: ['root'] }, sudo)).toBe(
      'root tokens may not be created without parent token being root',
    )
  })
})

describe('who creates nothing', () => {
  it('batch tokens, tokens with limited uses, and invalid tokens cannot create tokens', async () => {
    const batch = await world.create({ type: 'batch' }, { as: maker })
    expect([batch.orphan, batch.policies, batch.renewable]).toEqual([false, ['default', 'maker'], false])
    expect(await refused({}, batch.clientToken)).toBe('batch tokens cannot create more tokens')
    const limited = await world.create({ policies: ['maker'], num_uses: 5 })
    expect(await refused({}, limited.clientToken)).toBe('restricted use token cannot generate child tokens')
    expect((await refusal(world.create({}, { as: 'nobody' })))[0]).toBe('permission-denied')
  })

  it('a root token with a TTL cannot create a root token without one', async () => {
    const ending = (await world.create({ ttl: '10m' })).clientToken
    expect(await refused({ policies: ['root'] }, ending)).toBe(
      'expiring root tokens cannot create non-expiring root tokens',
    )
    expect((await world.create({ policies: ['root'], ttl: '5m' }, { as: ending })).leaseDurationSeconds).toBe(300)
    expect((await world.create({ explicit_max_ttl: '5m' }, { as: ending })).leaseDurationSeconds).toBe(300)
  })
})

describe('what a child has from its parent', () => {
  it('a child has the entity and the bound addresses of its parent, unless it is an orphan', async () => {
    await world.policies.put('root', 'maker', 'path "auth/token/create" { capabilities = ["update"] }')
    const { auth } = await world.login({ policies: ['maker'], boundCidrs: ['10.0.0.0/8'] })
    const child = await world.create({}, { as: auth.clientToken })
    expect(child.entityId).toBe(auth.entityId)
    expect((await world.lookup(child.clientToken)).bound_cidrs).toEqual(['10.0.0.0/8'])
    const orphan = await world.create({}, { as: auth.clientToken, path: 'create-orphan' })
    expect(orphan.entityId).toBe('')
    expect((await world.lookup(orphan.clientToken)).bound_cidrs).toBeUndefined()
  })
})

describe('a token created in a namespace below', () => {
  it('a token created in a child namespace has the requested policies of that namespace', async () => {
    const { policies, clientToken } = await world.create({ policies: ['app'] }, { namespace: TEAM })
    expect(policies).toEqual(['app', 'default'])
    expect((await world.lookup(clientToken)).namespace_path).toBe('team/')
  })
})
