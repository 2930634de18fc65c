import { beforeEach, describe, expect, it } from 'vitest'
import { LogicalError } from '../../../src/logical/errors.js'
import type { JsonObject } from '../../../src/logical/json.js'
import { refusal } from '../../support/backend-harness.js'
import { TokenWorld } from '../../support/token-world.js'

let world: TokenWorld
beforeEach(async () => {
  world = await TokenWorld.open()
})

const put = (name: string, body: JsonObject) => world.call('update', `roles/${name}`, { body })
const read = async (name: string) => (await world.call('read', `roles/${name}`))?.data as Record<string, unknown>
const by = (role: string, body: JsonObject = {}) => world.create(body, { path: `create/${role}` })
const refused = async (promise: Promise<unknown>): Promise<string> => {
  const [code, text] = await refusal(promise)
  expect(code).toBe('invalid-request')
  return text
}

const PLAIN = {
  allowed_entity_aliases: null,
  allowed_policies: [],
  allowed_policies_glob: [],
  disallowed_policies: [],
  disallowed_policies_glob: [],
  explicit_max_ttl: 0,
  name: 'r',
  orphan: false,
  path_suffix: '',
  period: 0,
  renewable: true,
  token_explicit_max_ttl: 0,
  token_no_default_policy: false,
  token_period: 0,
  token_type: 'default-service',
}

const FULL = {
  allowed_policies: 'a,b',
  disallowed_policies: ['c'],
  allowed_policies_glob: ['d-*'],
  disallowed_policies_glob: 'e-*',
  orphan: true,
  token_period: '1h',
  renewable: false,
  token_explicit_max_ttl: '2h',
  path_suffix: 'suf',
  token_type: 'service',
  token_bound_cidrs: ['10.0.0.0/8', '127.0.0.1'],
  token_num_uses: 4,
  token_no_default_policy: true,
  allowed_entity_aliases: 'x,y',
}

describe('a token role', () => {
  it('a token role has defaults, and a write changes only the fields that it names', async () => {
    expect(await put('r', {})).toBeUndefined()
    expect(await read('r')).toEqual(PLAIN)
    await put('r', FULL)
    await put('r', { renewable: true })
    expect(await read('r')).toEqual({
      allowed_entity_aliases: ['x', 'y'],
      allowed_policies: ['a', 'b'],
      allowed_policies_glob: ['d-*'],
      disallowed_policies: ['c'],
      disallowed_policies_glob: ['e-*'],
      explicit_max_ttl: 0,
      name: 'r',
      orphan: true,
      path_suffix: 'suf',
      period: 0,
      renewable: true,
      token_bound_cidrs: ['10.0.0.0/8', '127.0.0.1'],
      token_explicit_max_ttl: 7200,
      token_no_default_policy: true,
      token_num_uses: 4,
      token_period: 3600,
      token_type: 'service',
    })
  })

  it('a token role keeps its lists folded, unique and sorted, and its address blocks in the given order', async () => {
    await put('r', {
      allowed_policies: ['Zeta', 'alpha', 'ALPHA', ' beta '],
      disallowed_policies: 'Y,x,Y',
      allowed_policies_glob: ['Team-*', 'a*', 'A*'],
      disallowed_policies_glob: ['Z*', 'b*'],
      allowed_entity_aliases: 'Web-*,app,APP',
      token_bound_cidrs: ['192.168.0.0/16', '10.0.0.0/8', '127.0.0.1/32'],
    })
    expect(await read('r')).toMatchObject({
      allowed_policies: ['alpha', 'beta', 'zeta'],
      disallowed_policies: ['x', 'y'],
      allowed_policies_glob: ['a*', 'team-*'],
      disallowed_policies_glob: ['b*', 'z*'],
      allowed_entity_aliases: ['app', 'web-*'],
      token_bound_cidrs: ['192.168.0.0/16', '10.0.0.0/8', '127.0.0.1'],
    })
  })

  it('a token role shows deprecated fields if they were used', async () => {
    await put('r', { period: '30m', explicit_max_ttl: '1h', bound_cidrs: '127.0.0.1/32' })
    expect(await read('r')).toEqual({
      ...PLAIN,
      bound_cidrs: ['127.0.0.1'],
      explicit_max_ttl: 3600,
      period: 1800,
      token_bound_cidrs: ['127.0.0.1'],
      token_explicit_max_ttl: 3600,
      token_period: 1800,
    })
  })

  it('a token role warns of deprecated and current names together, and of a ttl over the mount maximum', async () => {
    expect((await put('r', { period: '1m', token_period: '2m' }))?.warnings).toEqual([
      "Both 'token_period' and deprecated 'period' value supplied, ignoring the deprecated value",
    ])
    expect((await read('r')).token_period).toBe(120)
    expect((await put('r', { token_explicit_max_ttl: '1000h' }))?.warnings?.[0]).toMatch(
      /^Given explicit max TTL of 3600000 is greater than/,
    )
  })

  it('a token role can be listed and deleted, also twice', async () => {
    expect(await world.call('list', 'roles/')).toBeUndefined()
    await put('b', {})
    await put('a', {})
    expect((await world.call('list', 'roles/'))?.data).toEqual({ keys: ['a', 'b'] })
    expect(await world.call('delete', 'roles/a')).toBeUndefined()
    expect(await world.call('delete', 'roles/a')).toBeUndefined()
    expect(await world.call('read', 'roles/a')).toBeUndefined()
  })

  it.each([
    [
      { token_type: 'batch', orphan: true },
      "'token_type' cannot be 'batch' when role is set to generate renewable tokens",
    ],
    [
      { token_type: 'batch', renewable: false },
      "'token_type' cannot be 'batch' when role is set to generate non-orphan tokens",
    ],
    [
      { token_type: 'batch', orphan: true, renewable: false, token_period: '1h' },
      "'token_type' cannot be 'batch' when role is set to generate periodic tokens",
    ],
    [
      { token_type: 'batch', orphan: true, renewable: false, token_explicit_max_ttl: '1h' },
      "'token_type' cannot be 'batch' when role is set to generate tokens with an explicit max TTL",
    ],
    [{ token_type: 'solid' }, 'invalid \'token_type\' value "solid"'],
    [{ path_suffix: 'a b' }, 'given role path suffix contains invalid characters; must match \\w[\\w-.]+\\w'],
    [{ path_suffix: 'a..b' }, 'given role path suffix contains invalid characters; must match \\w[\\w-.]+\\w'],
  ])('a token role rejects %j: %s', async (body: JsonObject, text) => {
    expect(await refused(put('r', body))).toBe(text)
    expect(await world.call('read', 'roles/r')).toBeUndefined()
  })

  it('an error of a token role names the field with the invalid value', async () => {
    expect(await refused(put('r', { token_bound_cidrs: 'nowhere' }))).toMatch(
      /^error parsing role fields: error parsing address "nowhere": /,
    )
    expect(await refused(put('r', { token_period: '-1h' }))).toMatch(
      /^error converting input for field "token_period": /,
    )
  })

  it('a token role is shared data: a write on a secondary is forwarded', async () => {
    world.shared.roles.writeError = new LogicalError('read-only', 'forward it')
    expect((await refusal(put('r', {})))[0]).toBe('read-only')
  })
})

describe('a token made by a role', () => {
  it('a token made by a role names the role and outlives it', async () => {
    await put('r', {})
    const { clientToken } = await by('r', { policies: ['default'], ttl: '10m' })
    await world.call('delete', 'roles/r')
    expect(await world.lookup(clientToken)).toMatchObject({ role: 'r', path: 'auth/token/create/r', creation_ttl: 600 })
    const renewal = world.call('update', 'renew', { body: { token: clientToken } })
    expect(await refused(renewal)).toBe('original token role "r" could not be found, not renewing')
    expect(await refused(by('r'))).toBe('unknown role r')
  })

  it('a token made by a role has the settings of the role, and follows its period and maximum', async () => {
    await put('r', { ...FULL, renewable: true })
    const made = await by('r', { policies: ['d-1'] })
    expect(made).toMatchObject({ policies: ['d-1'], leaseDurationSeconds: 3600, orphan: true, numUses: 4 })
    expect(made.warnings).toEqual(['Policy "d-1" does not exist'])
    const shown = await world.lookup(made.clientToken)
    expect(shown).toMatchObject({
      path: 'auth/token/create/r/suf',
      explicit_max_ttl: 0,
      bound_cidrs: FULL.token_bound_cidrs,
    })
    expect(shown.period).toBeUndefined()
    await put('r', { token_period: '20m' })
    const renewed = await world.call('update', 'renew', { body: { token: made.clientToken } })
    expect(renewed?.auth?.leaseDurationSeconds).toBe(1200)
  })

  it('a token made by a role takes policies from the lists of the role instead of its parent', async () => {
    await put('r', FULL)
    expect((await by('r')).policies).toEqual(['a', 'b'])
    for (const name of ['z', 'c', 'root']) {
      expect(await refused(by('r', { policies: [name] }))).toBe(
        `token policies (["${name}"]) must be subset of the role's allowed policies (["a" "b"]) or glob policies (["d-*"])`,
      )
    }
    await put('barred', { disallowed_policies: ['c'], disallowed_policies_glob: ['x*z'] })
    expect(await refused(by('barred', { policies: ['c'] }))).toBe('token policy "c" is disallowed by this role')
    expect(await refused(by('barred', { policies: ['xyz'] }))).toBe('token policy "xyz" is disallowed by this role')
    expect((await by('barred', { policies: ['x'] })).policies).toEqual(['default', 'x'])
  })

  it.each([
    ['service', 'batch', 'service'],
    ['batch', 'service', 'batch'],
    ['default-service', '', 'service'],
    ['default-service', 'batch', 'batch'],
    ['default-batch', '', 'batch'],
    ['default-batch', 'service', 'service'],
  ])('a role of type %s with a request for type %j makes a %s token', async (token_type, type, made) => {
    await put('r', { token_type, orphan: true, renewable: false })
    expect((await by('r', { policies: ['default'], type })).tokenType).toBe(made)
  })

  it('a token made by a role gets the lesser of role and request, with a warning', async () => {
    await put('r', { token_explicit_max_ttl: '1h', token_period: '30m', token_num_uses: 4 })
    const made = await by('r', { policies: ['default'], explicit_max_ttl: '2h', period: '10m', num_uses: 9 })
    expect(made).toMatchObject({ leaseDurationSeconds: 600, numUses: 4 })
    expect(made.warnings).toEqual([
      'Explicit max TTL specified both during creation call and in role; using the lesser value of 3600 seconds',
      'Period specified both during creation call and in role; using the lesser value of 600 seconds',
    ])
  })

  it('a token made by a role may belong to the entity of an alias that the role allows', async () => {
    await put('r', { allowed_entity_aliases: ['web-*', 'Exact'] })
    const one = await by('r', { policies: ['default'], entity_alias: 'web-1' })
    const again = await by('r', { policies: ['default'], entity_alias: 'web-1' })
    const other = await by('r', { policies: ['default'], entity_alias: 'exact' })
    expect(one.entityId).toMatch(/^[0-9a-f-]{36}$/)
    expect([again.entityId === one.entityId, other.entityId === one.entityId]).toEqual([true, false])
    expect(world.identity.findEntity(one.entityId)?.aliases[0]).toMatchObject({
      mountAccessor: 'auth_token_1',
      name: 'web-1',
    })
    expect(await refused(by('r', { entity_alias: 'db-1' }))).toBe("invalid 'entity_alias' value")
    await put('none', {})
    expect(await refused(by('none', { entity_alias: 'web-1' }))).toBe("invalid 'entity_alias' value")
  })
})
