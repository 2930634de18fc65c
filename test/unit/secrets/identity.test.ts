import { beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/logical/json.js'
import type { NamespaceRef, Operation } from '../../../src/logical/request.js'
import { dataOf, refusal } from '../../support/backend-harness.js'
import { identityCalls, makeIdentity, MOUNTS, TEAM } from '../../support/identity-mount.js'

let identity: ReturnType<typeof makeIdentity>
beforeEach(() => {
  identity = makeIdentity(MOUNTS)
})

const { call, write, read, refused } = identityCalls(() => identity)
const make = async (body: JsonObject = {}, namespace?: NamespaceRef): Promise<string> =>
  String((await write('entity', body, namespace))?.id)
const alias = (body: JsonObject) => write('entity-alias', { name: 'joe', mount_accessor: 'auth_userpass_1', ...body })
const login = (name: string, mountAccessor = 'auth_approle_1', namespaceId = 'root') =>
  identity.store.findOrCreate({ name, mountAccessor, metadata: { role_name: 'web' }, namespaceId })

describe('an entity', () => {
  it('an entity is created with or without a name, and read by id and by name', async () => {
    const made = await write('entity', { name: 'Joe', policies: 'b,a,b', metadata: { team: 'red' } })
    expect(made).toEqual({ aliases: null, id: expect.any(String), name: 'Joe' })
    const shown = {
      aliases: [],
      creation_time: '2023-11-14T22:13:20.000000000Z',
      direct_group_ids: [],
      disabled: false,
      group_ids: [],
      id: made?.id,
      inherited_group_ids: [],
      last_update_time: '2023-11-14T22:13:20.000000000Z',
      merged_entity_ids: null,
      metadata: { team: 'red' },
      mfa_secrets: {},
      name: 'Joe',
      namespace_id: 'root',
      policies: ['a', 'b'],
    }
    expect(await read(`entity/id/${made?.id}`)).toEqual(shown)
    expect(await read('entity/name/joe')).toEqual(shown)
    expect(await read('entity/name/nobody')).toBeUndefined()
    expect((await write('entity'))?.name).toMatch(/^entity_[0-9a-f]{8}$/)
  })

  it('an entity changes by id, by name and by the create path, and keeps what is not sent', async () => {
    const id = await make({ name: 'joe', policies: ['a'], metadata: { team: 'red' } })
    identity.harness.clock.advance(1000)
    expect(await write(`entity/id/${id}`, { disabled: true })).toBeUndefined()
    expect(await write('entity/name/joe', { policies: ['c'] })).toBeUndefined()
    expect(await write('entity', { name: 'joe', metadata: { desk: '7' } })).toBeUndefined()
    expect(await read(`entity/id/${id}`)).toMatchObject({
      disabled: true,
      policies: ['c'],
      metadata: { desk: '7' },
      creation_time: '2023-11-14T22:13:20.000000000Z',
      last_update_time: '2023-11-14T22:13:21.000000000Z',
    })
    await write(`entity/id/${id}`, { name: 'jane', metadata: {}, policies: [] })
    expect(await read('entity/name/joe')).toBeUndefined()
    expect(await read('entity/name/jane')).toMatchObject({ id, metadata: null, policies: [] })
    expect(await write('entity/name/new', {})).toMatchObject({ name: 'new' })
  })

  it('an entity rejects an unknown id, a used name, the policy root and too much metadata', async () => {
    const id = await make({ name: 'joe' })
    await make({ name: 'jane' })
    expect(await refused('entity', { id: 'none' })).toBe('entity not found from id')
    expect(await refused('entity/id/none', {})).toBe('entity not found from id')
    expect(await refused(`entity/id/${id}`, { name: 'JANE' })).toBe('entity name is already in use')
    expect(await refused('entity', { policies: ['Root'] })).toBe('policies cannot contain root')
    const many = Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`k${n}`, 'v']))
    for (const metadata of [many, { k: 'v'.repeat(513) }, { ['k'.repeat(129)]: 'v' }]) {
      expect(await refused('entity', { metadata })).toMatch(/metadata/)
    }
    expect(await refused('entity', { name: 'n'.repeat(4097) })).toMatch(/name/)
  })

  it('an entity is listed by id and by name, and its deletion removes its aliases and may be repeated', async () => {
    expect(await call('list', 'entity/id/')).toBeUndefined()
    const [b, a] = [await make({ name: 'b' }), await make({ name: 'a' })]
    const { id } = (await alias({ canonical_id: a })) ?? {}
    expect(await call('list', 'entity/name/')).toMatchObject({
      data: { keys: ['a', 'b'], key_info: { a: { id: a, aliases: [{ id, name: 'joe', mount_type: 'userpass' }] } } },
    })
    expect(dataOf(await call('list', 'entity/id/'))).toMatchObject({
      keys: [a, b].sort(),
      key_info: { [b]: { name: 'b', aliases: [] } },
    })
    await call('delete', `entity/id/${a}`)
    await call('delete', `entity/id/${a}`)
    await call('delete', 'entity/name/b')
    expect(await call('list', 'entity/name/')).toBeUndefined()
    expect(await call('list', 'entity-alias/id/')).toBeUndefined()
    expect(await identity.harness.storage.keys('')).toEqual([])
  })

  it('several entities can be deleted together', async () => {
    const ids = [await make(), await make(), 'none']
    const kept = await make()
    await write('entity/batch-delete', { entity_ids: ids })
    expect(dataOf(await call('list', 'entity/id/'))).toMatchObject({ keys: [kept] })
  })

  it('an entity of a login shows its alias, and no policies until a client writes them', async () => {
    const { id, name } = await login('role-1')
    expect(name).toMatch(/^entity_/)
    expect(await read(`entity/id/${id}`)).toMatchObject({
      metadata: null,
      policies: [],
      aliases: [
        {
          canonical_id: id,
          creation_time: '2023-11-14T22:13:20.000000000Z',
          custom_metadata: null,
          id: expect.any(String),
          last_update_time: '2023-11-14T22:13:20.000000000Z',
          local: false,
          merged_from_canonical_ids: null,
          metadata: { role_name: 'web' },
          mount_accessor: 'auth_approle_1',
          mount_path: 'auth/approle/',
          mount_type: 'approle',
          name: 'role-1',
        },
      ],
    })
  })
})

describe('an alias', () => {
  it('an alias belongs to the named entity or to a new one, and the next login finds it', async () => {
    const id = await make({ name: 'joe' })
    const made = await alias({ canonical_id: id, custom_metadata: { desk: '7' } })
    expect(made).toEqual({ canonical_id: id, id: expect.any(String) })
    expect(await read(`entity-alias/id/${made?.id}`)).toMatchObject({
      canonical_id: id,
      custom_metadata: { desk: '7' },
      metadata: null,
      mount_path: 'auth/userpass/',
      name: 'joe',
      namespace_id: 'root',
    })
    expect((await login('joe', 'auth_userpass_1')).id).toBe(id)
    expect(await read(`entity-alias/id/${made?.id}`)).toMatchObject({
      custom_metadata: { desk: '7' },
      metadata: { role_name: 'web' },
    })
    const other = await alias({ name: 'jane' })
    expect(other?.canonical_id).not.toBe(id)
    expect(await read(`entity/id/${other?.canonical_id}`)).toMatchObject({ aliases: [{ name: 'jane' }] })
    expect(dataOf(await call('list', 'entity-alias/id/'))).toMatchObject({
      keys: [made?.id, other?.id].map(String).sort(),
      key_info: { [String(made?.id)]: { canonical_id: id, mount_type: 'userpass', name: 'joe' } },
    })
  })

  it('a renamed or moved alias leads the next login to its current entity', async () => {
    const [joe, jane] = [await make({ name: 'joe' }), await make({ name: 'jane' })]
    const made = await alias({ canonical_id: joe })
    await login('joe', 'auth_userpass_1')
    expect(await write(`entity-alias/id/${made?.id}`, { name: 'joseph' })).toEqual({ canonical_id: joe, id: made?.id })
    expect((await login('joseph', 'auth_userpass_1')).id).toBe(joe)
    expect(await alias({ name: 'joseph', canonical_id: jane })).toEqual({ canonical_id: jane, id: made?.id })
    expect((await login('joseph', 'auth_userpass_1')).id).toBe(jane)
    expect(await read(`entity/id/${joe}`)).toMatchObject({ aliases: [] })
    expect((await login('joe', 'auth_userpass_1')).id).not.toBe(joe)
    await call('delete', `entity-alias/id/${made?.id}`)
    await call('delete', `entity-alias/id/${made?.id}`)
    expect(await read(`entity-alias/id/${made?.id}`)).toBeUndefined()
    expect(await read(`entity/id/${jane}`)).toMatchObject({ aliases: [] })
  })

  it('an alias write rejects unknown ids and a second alias of one mount', async () => {
    const id = await make({ name: 'joe' })
    const made = await alias({ canonical_id: id })
    const jane = await alias({ name: 'jane' })
    const body = { name: 'x', mount_accessor: 'auth_userpass_1' }
    expect(await refused('entity-alias', { ...body, name: '' })).toBe(
      "'id' or 'mount_accessor' and 'name' must be provided",
    )
    expect(await refused('entity-alias', { name: 'x' })).toBe("'id' or 'mount_accessor' and 'name' must be provided")
    expect(await refused('entity-alias', { ...body, mount_accessor: 'none' })).toBe('invalid mount accessor "none"')
    expect(await refused('entity-alias', { ...body, canonical_id: 'none' })).toBe('invalid canonical ID')
    expect(await refused('entity-alias', { ...body, id: 'none' })).toBe('invalid alias ID provided')
    expect(await refused('entity-alias', { ...body, mount_accessor: 'auth_local_1' })).toMatch(/is a local mount$/)
    expect(await refused('entity-alias', { ...body, mount_accessor: 'auth_team_1' })).toMatch(/different namespace/)
    const twice = 'Alias already exists for requested entity and mount accessor'
    expect(await refused('entity-alias', { ...body, canonical_id: id })).toBe(twice)
    expect(await refused(`entity-alias/id/${jane?.id}`, { canonical_id: id })).toBe(twice)
    expect(await refused(`entity-alias/id/${jane?.id}`, { name: 'joe' })).toMatch(/already exists/)
    expect(await read(`entity-alias/id/${made?.id}`)).toMatchObject({ canonical_id: id, name: 'joe' })
  })
})

describe('a merge', () => {
  it('a merge moves aliases, memberships and tokens to the target, which keeps its policies', async () => {
    const target = await make({ name: 'target', policies: ['a'] })
    const { id } = await login('role-1')
    const group = (await write('group', { policies: ['g'], member_entity_ids: id }))?.id
    await write('entity/merge', { to_entity_id: target, from_entity_ids: [id] })
    expect(await read(`entity/id/${id}`)).toBeUndefined()
    expect(await read(`group/id/${group}`)).toMatchObject({ member_entity_ids: [target] })
    expect(identity.store.refuses({ entityId: id })).toBe(false)
    expect(identity.store.policiesOf({ entityId: id, namespace: { id: 'root' } })).toEqual(['a', 'g'])
    expect((await login('role-1')).id).toBe(target)
    await write('entity/merge', { to_entity_id: await make({ name: 'last' }), from_entity_ids: target })
    expect(identity.store.findEntity(id)?.name).toBe('last')
    await call('delete', 'entity/name/last')
    expect(identity.store.refuses({ entityId: id })).toBe(true)
  })

  it('a merge of two aliases of one mount needs the alias to keep', async () => {
    const target = await make({ name: 'target' })
    const kept = (await alias({ canonical_id: target }))?.id
    const source = await make({ name: 'source' })
    const other = (await alias({ name: 'jane', canonical_id: source }))?.id
    const merge = (keep?: unknown) =>
      ({ to_entity_id: target, from_entity_ids: [source], conflicting_alias_ids_to_keep: keep }) as JsonObject
    expect(await refused('entity/merge', merge([]))).toMatch(/^2 errors occurred/)
    expect(await refused('entity/merge', merge(['none']))).toMatch(/^conflicting mount accessors/)
    await write('entity/merge', merge([kept]))
    expect(await read(`entity/id/${target}`)).toMatchObject({ aliases: [{ id: kept }], merged_entity_ids: [source] })
    expect(await read(`entity-alias/id/${other}`)).toBeUndefined()
  })
})

describe('a lookup', () => {
  it('a lookup finds an entity by id, by name, by alias id, and by alias name at a mount', async () => {
    const { id, name, aliases } = await login('role-1')
    for (const body of [
      { id },
      { name },
      { alias_id: aliases[0]?.id ?? '' },
      { alias_name: 'role-1', alias_mount_accessor: 'auth_approle_1' },
    ]) {
      expect(await write('lookup/entity', body)).toEqual(await read(`entity/id/${id}`))
    }
  })

  it('a lookup without a match is empty, and one with too few or too many parameters is 400', async () => {
    for (const body of [
      { id: 'none' },
      { name: 'none' },
      { alias_id: 'none' },
      { alias_name: 'x', alias_mount_accessor: 'y' },
    ]) {
      expect(await write('lookup/entity', body)).toBeUndefined()
    }
    expect(await refused('lookup/entity', {})).toBe('query parameter not supplied')
    expect(await refused('lookup/entity', { id: 'a', name: 'b' })).toMatch(/conflict/)
    expect(await refused('lookup/entity', { alias_name: 'x' })).toMatch(/^both 'alias_name'/)
  })

  it('an entity lookup works on a secondary, and all other identity writes go to the primary', async () => {
    const id = await make({ name: 'joe' })
    identity.state.isReadOnly = true
    expect(await write('lookup/entity', { name: 'joe' })).toMatchObject({ id })
    const writes: [Operation, string, JsonObject][] = [
      ['update', 'entity', { id: 'not here yet' }],
      ['update', 'entity/name/x', {}],
      ['delete', 'entity/id/not-here-yet', {}],
      ['delete', 'entity/name/not-here-yet', {}],
      ['update', 'entity/batch-delete', { entity_ids: ['not here yet'] }],
      ['update', 'entity-alias', { name: 'x', mount_accessor: 'not here yet' }],
      ['delete', 'entity-alias/id/not-here-yet', {}],
    ]
    for (const [operation, path, body] of writes) {
      expect((await refusal(call(operation, path, body)))[0]).toBe('read-only')
    }
  })
})

describe('namespaces', () => {
  it('each namespace has its own entities with their names, and its removal deletes them', async () => {
    const [here, there] = [await make({ name: 'joe' }), await make({ name: 'joe' }, TEAM)]
    expect(await read(`entity/id/${there}`)).toBeUndefined()
    expect(await read(`entity/id/${there}`, TEAM)).toMatchObject({ namespace_id: 'team1' })
    expect(await refused('entity', { id: there })).toBe('entity not found from id')
    expect(await write('lookup/entity', { id: here }, TEAM)).toBeUndefined()
    await call('delete', `entity/id/${there}`)
    expect(await read('entity/name/joe', TEAM)).toMatchObject({ id: there })
    await login('role-1', 'auth_team_1', 'team1')
    await identity.store.removeNamespace('team1')
    expect(await call('list', 'entity/id/', {}, TEAM)).toBeUndefined()
    expect(dataOf(await call('list', 'entity/id/'))).toMatchObject({ keys: [here] })
    await call('delete', 'entity/name/joe')
    expect(await identity.harness.storage.keys('')).toEqual([])
  })
})

it('one of many concurrent writes of an entity name creates it, and the others change it', async () => {
  const answers = await Promise.all(Array.from({ length: 10 }, () => write('entity/name/joe')))
  expect(answers.filter((answer) => answer !== undefined)).toHaveLength(1)
  expect((await identity.harness.storage.keys('entity/')).length).toBe(1)
})
