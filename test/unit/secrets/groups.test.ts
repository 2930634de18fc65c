import { beforeEach, describe, expect, it } from 'vitest'
import { LIMITS } from '../../../src/base/limits.js'
import { MEMBER_KEYS } from '../../../src/core/identity/group-record.js'
import { readOnly } from '../../../src/logical/errors.js'
import type { JsonObject } from '../../../src/logical/json.js'
import { type NamespaceRef, type Operation, ROOT_NAMESPACE } from '../../../src/logical/request.js'
import { putJson } from '../../../src/logical/storage.js'
import { dataOf, refusal } from '../../support/backend-harness.js'
import { identityCalls, makeIdentity, MOUNTS, TEAM } from '../../support/identity-mount.js'

let identity: ReturnType<typeof makeIdentity>
beforeEach(() => {
  identity = makeIdentity(MOUNTS)
})

const { call, write, read, refused } = identityCalls(() => identity)
const entity = async (name: string, body: JsonObject = {}, namespace?: NamespaceRef) =>
  String((await write('entity', { name, ...body }, namespace))?.id)
const group = async (name: string, body: JsonObject = {}, namespace?: NamespaceRef) =>
  String((await write('group', { name, ...body }, namespace))?.id)
const alias = (body: JsonObject) => write('group-alias', { name: 'devs', mount_accessor: 'auth_userpass_1', ...body })
const groupsOf = async (name: string) => {
  const { group_ids, direct_group_ids, inherited_group_ids } = (await read(`entity/name/${name}`)) ?? {}
  return { all: group_ids, direct: direct_group_ids, inherited: inherited_group_ids }
}
const policiesOf = (entityId: string) => identity.store.policiesOf({ entityId, namespace: ROOT_NAMESPACE })
const storedKeys = () => identity.harness.storage.keys('')

describe('a group', () => {
  it('a group is created with or without a name, and read by id and by name', async () => {
    const joe = await entity('joe')
    const made = await write('group', {
      name: 'Devs',
      policies: 'b,a,b',
      metadata: { team: 'red' },
      member_entity_ids: [joe, joe, ''],
    })
    expect(made).toEqual({ id: expect.any(String), name: 'Devs' })
    const shown = {
      alias: {},
      creation_time: '2023-11-14T22:13:20.000000000Z',
      id: made?.id,
      last_update_time: '2023-11-14T22:13:20.000000000Z',
      member_entity_ids: [joe],
      member_group_ids: null,
      metadata: { team: 'red' },
      modify_index: 1,
      name: 'Devs',
      namespace_id: 'root',
      parent_group_ids: null,
      policies: ['a', 'b'],
      type: 'internal',
    }
    expect(await read(`group/id/${made?.id}`)).toEqual(shown)
    expect(await read('group/name/devs')).toEqual(shown)
    expect(await read('group/name/none')).toBeUndefined()
    const unnamed = await write('group')
    expect(unnamed?.name).toMatch(/^group_[0-9a-f]{8}$/)
    expect(await read(`group/id/${unnamed?.id}`)).toMatchObject({
      member_entity_ids: null,
      metadata: null,
      policies: null,
    })
  })

  it('a group changes by id, by name and by the create path, and keeps what is not sent', async () => {
    const joe = await entity('joe')
    const id = await group('devs', { policies: 'a', metadata: { team: 'red' }, member_entity_ids: joe })
    identity.harness.clock.advance(1000)
    expect(await write(`group/id/${id}`, { type: 'internal', policies: ['c'] })).toBeUndefined()
    expect(await write('group/name/devs', { metadata: { desk: '7' } })).toBeUndefined()
    expect(await write('group', { name: 'DEVS', id })).toBeUndefined()
    expect(await read(`group/id/${id}`)).toMatchObject({
      creation_time: '2023-11-14T22:13:20.000000000Z',
      last_update_time: '2023-11-14T22:13:21.000000000Z',
      member_entity_ids: [joe],
      metadata: { desk: '7' },
      modify_index: 4,
      name: 'DEVS',
      policies: ['c'],
    })
    await write(`group/id/${id}`, { name: 'ops', member_entity_ids: [], metadata: {}, policies: [] })
    expect(await read('group/name/devs')).toBeUndefined()
    expect(await read('group/name/ops')).toMatchObject({ id, member_entity_ids: null, metadata: null, policies: [] })
    expect(await groupsOf('joe')).toEqual({ all: [], direct: [], inherited: [] })
    expect(await write('group/name/new', {})).toMatchObject({ name: 'new' })
  })

  it('a group rejects unknown members, a used name, another type, the policy root and too many members', async () => {
    const id = await group('devs')
    await group('ops')
    const joe = await entity('joe')
    expect(await refused('group', { id: 'none' })).toBe('invalid group ID')
    expect(await refused(`group/id/${id}`, { name: 'OPS' })).toBe('group name is already in use')
    expect(await refused('group', { type: 'cosmic' })).toBe('invalid group type "cosmic"')
    expect(await refused(`group/id/${id}`, { type: 'external' })).toBe('group type cannot be changed')
    expect(await refused('group', { policies: ['Root'] })).toBe('policies cannot contain root')
    expect(await refused('group', { metadata: { k: 'v'.repeat(513) } })).toMatch(/metadata/)
    expect(await refused('group', { name: 'n'.repeat(4097) })).toMatch(/name/)
    expect(await refused('group/name/new', { member_entity_ids: [joe, 'none'] })).toBe('invalid entity ID "none"')
    expect(await refused('group/name/new', { member_entity_ids: id })).toMatch(/^invalid entity ID/)
    expect(await refused('group/name/new', { member_group_ids: joe })).toMatch(/^invalid member group ID/)
    const many = Array.from({ length: LIMITS.groupMembersMax }, (_, n) => `${n}`)
    expect(await refused('group/name/new', { member_entity_ids: many, member_group_ids: id })).toMatch(
      /at most 10000 members/,
    )
    expect(await read('group/name/new')).toBeUndefined()
    expect(await groupsOf('joe')).toEqual({ all: [], direct: [], inherited: [] })
  })

  it('an external group rejects members, even an empty list of them', async () => {
    const id = await group('devs', { type: 'external' })
    for (const at of [`group/id/${id}`, 'group/name/devs']) {
      expect(await refused(at, { member_entity_ids: [] })).toBe(
        "member entities can't be set manually for external groups",
      )
      expect(await refused(at, { member_group_ids: [] })).toBe("member groups can't be set for external groups")
    }
    expect(await refused('group/name/devs', { type: 'internal' })).toBe('group type cannot be changed')
  })

  it('a group is listed by id and by name, with the numbers of its entities and of the groups that contain it', async () => {
    expect(await call('list', 'group/id/')).toBeUndefined()
    const b = await group('b', { member_entity_ids: [await entity('joe'), await entity('jane')] })
    const a = await group('a', { member_group_ids: b })
    const c = await group('c', { type: 'external' })
    const made = await alias({ canonical_id: c })
    expect(dataOf(await call('list', 'group/name/'))).toEqual({
      keys: ['a', 'b', 'c'],
      key_info: {
        a: { id: a, num_member_entities: 0, num_parent_groups: 0 },
        b: { id: b, num_member_entities: 2, num_parent_groups: 1 },
        c: {
          id: c,
          num_member_entities: 0,
          num_parent_groups: 0,
          alias: {
            id: made?.id,
            mount_accessor: 'auth_userpass_1',
            mount_path: 'auth/userpass/',
            mount_type: 'userpass',
            name: 'devs',
          },
        },
      },
    })
    expect(dataOf(await call('list', 'group/id/'))).toMatchObject({
      keys: [a, b, c].sort(),
      key_info: { [b]: { name: 'b' } },
    })
  })
})

describe('membership', () => {
  it('an entity shows its direct and its inherited groups, each once, and has the policies of all', async () => {
    const joe = await entity('joe', { policies: ['own'] })
    const inner = await group('inner', { policies: ['b'], member_entity_ids: joe })
    const middle = await group('middle', { policies: ['C'], member_group_ids: inner })
    const outer = await group('outer', { policies: ['a', 'b'], member_group_ids: [inner, middle] })
    expect(await groupsOf('joe')).toEqual({ all: [inner, middle, outer], direct: [inner], inherited: [middle, outer] })
    expect(await read(`group/id/${inner}`)).toMatchObject({ parent_group_ids: [middle, outer] })
    expect(policiesOf(joe)).toEqual(['a', 'b', 'c', 'own'])
    await write(`group/id/${outer}`, { member_entity_ids: joe })
    expect(await groupsOf('joe')).toEqual({ all: [inner, outer, middle], direct: [inner, outer], inherited: [middle] })
    await write(`group/id/${middle}`, { policies: [] })
    await write(`group/id/${outer}`, { member_entity_ids: [], member_group_ids: [] })
    expect(policiesOf(joe)).toEqual(['b', 'own'])
    expect(await groupsOf('joe')).toMatchObject({ all: [inner, middle] })
  })

  it('a group cannot contain itself, directly or through other groups', async () => {
    const a = await group('a')
    const b = await group('b', { member_group_ids: a })
    const c = await group('c', { member_group_ids: b })
    const cycle = (id: string) => `cyclic relationship detected for member group ID "${id}"`
    const itself = `member group ID "${a}" is same as the ID of the group`
    expect(await refused(`group/id/${a}`, { member_group_ids: a })).toBe(itself)
    expect(await refused(`group/id/${a}`, { member_group_ids: b })).toBe(cycle(b))
    expect(await refused(`group/id/${a}`, { member_group_ids: [await group('d'), c] })).toBe(cycle(c))
    expect(await read(`group/id/${a}`)).toMatchObject({ member_group_ids: null, modify_index: 1 })
    await write(`group/id/${b}`, { member_group_ids: [] })
    await write(`group/id/${a}`, { member_group_ids: c })
    expect(await read(`group/id/${c}`)).toMatchObject({ parent_group_ids: [a] })
  })

  it('the deletion of an entity removes it from its groups, and that of a group from both sides', async () => {
    const [joe, jane] = [await entity('joe'), await entity('jane')]
    const inner = await group('inner', { policies: ['a'], member_entity_ids: [joe, jane] })
    const outer = await group('outer', { policies: ['b'], member_group_ids: inner, member_entity_ids: jane })
    await call('delete', `entity/id/${joe}`)
    expect(await read(`group/id/${inner}`)).toMatchObject({ member_entity_ids: [jane], modify_index: 2 })
    await call('delete', 'group/name/inner')
    await call('delete', `group/id/${inner}`)
    expect(await read(`group/id/${outer}`)).toMatchObject({ member_entity_ids: [jane], member_group_ids: null })
    expect(await groupsOf('jane')).toEqual({ all: [outer], direct: [outer], inherited: [] })
    expect(policiesOf(jane)).toEqual(['b'])
    await write('entity/batch-delete', { entity_ids: [jane] })
    expect(await read(`group/id/${outer}`)).toMatchObject({ member_entity_ids: null })
    await call('delete', `group/id/${outer}`)
    expect(await storedKeys()).toEqual([])
  })

  it('an entity can be in a limited number of groups', async () => {
    const joe = await entity('joe')
    const groupIds = Array.from({ length: LIMITS.groupsOfMemberMax }, (_, n) => `${n}`)
    await identity.harness.storage.write((tx) => putJson(tx, MEMBER_KEYS.member(joe), groupIds))
    expect(await refused('group/name/more', { member_entity_ids: joe })).toMatch(/more than 1000 groups/)
    expect(await read('group/name/more')).toBeUndefined()
  })
})

describe('a group alias', () => {
  it('a group alias belongs to the named external group or to a new one, and is shown there', async () => {
    const id = await group('devs', { type: 'external' })
    const made = await alias({ canonical_id: id })
    expect(made).toEqual({ canonical_id: id, id: expect.any(String) })
    const shown = {
      canonical_id: id,
      creation_time: '2023-11-14T22:13:20.000000000Z',
      id: made?.id,
      last_update_time: '2023-11-14T22:13:20.000000000Z',
      merged_from_canonical_ids: null,
      metadata: null,
      mount_accessor: 'auth_userpass_1',
      mount_path: 'auth/userpass/',
      mount_type: 'userpass',
      name: 'devs',
    }
    expect(await read(`group-alias/id/${made?.id}`)).toMatchObject({ ...shown, namespace_id: 'root' })
    expect(await read(`group/id/${id}`)).toMatchObject({ alias: shown, modify_index: 2 })
    const other = await alias({ name: 'ops' })
    expect(await read(`group/id/${other?.canonical_id}`)).toMatchObject({ type: 'external', alias: { name: 'ops' } })
    expect(dataOf(await call('list', 'group-alias/id/'))).toMatchObject({
      keys: [made?.id, other?.id].map(String).sort(),
      key_info: { [String(made?.id)]: { canonical_id: id, mount_type: 'userpass', name: 'devs' } },
    })
  })

  it('a group alias can be renamed, moved and deleted, and a group has only its latest alias', async () => {
    const [devs, ops] = [await group('devs', { type: 'external' }), await group('ops', { type: 'external' })]
    const made = await alias({ canonical_id: devs })
    expect(await write(`group-alias/id/${made?.id}`, { name: 'people' })).toEqual(made)
    expect(await alias({ id: String(made?.id), canonical_id: ops })).toEqual({ canonical_id: ops, id: made?.id })
    expect(await read(`group/id/${devs}`)).toMatchObject({ alias: {} })
    expect(await read(`group/id/${ops}`)).toMatchObject({ alias: { id: made?.id, name: 'devs' } })
    const next = await alias({ name: 'next', mount_accessor: 'auth_approle_1', canonical_id: ops })
    expect(await read(`group-alias/id/${made?.id}`)).toBeUndefined()
    expect(await read(`group/id/${ops}`)).toMatchObject({ alias: { id: next?.id, mount_type: 'approle' } })
    await call('delete', `group-alias/id/${next?.id}`)
    await call('delete', `group-alias/id/${next?.id}`)
    expect(await call('list', 'group-alias/id/')).toBeUndefined()
    for (const id of [devs, ops]) await call('delete', `group/id/${id}`)
    expect(await storedKeys()).toEqual([])
  })

  it('a group alias rejects unknown ids and mounts, an internal group, and a used combination of mount and name', async () => {
    const internal = await group('internal')
    const [devs, ops] = [await group('devs', { type: 'external' }), await group('ops', { type: 'external' })]
    await alias({ canonical_id: devs })
    const other = await alias({ name: 'ops', canonical_id: ops })
    const body = { name: 'x', mount_accessor: 'auth_userpass_1', canonical_id: ops }
    const used = 'combination of mount and group alias name is already in use'
    expect(await refused('group-alias', { ...body, name: '' })).toBe('missing alias name')
    expect(await refused('group-alias', { name: 'x' })).toBe('missing mount_accessor')
    expect(await refused('group-alias', { ...body, mount_accessor: 'none' })).toBe('invalid mount accessor "none"')
    expect(await refused('group-alias', { ...body, mount_accessor: 'auth_local_1' })).toMatch(/is a local mount$/)
    expect(await refused('group-alias', { ...body, mount_accessor: 'auth_team_1' })).toMatch(/different namespace/)
    expect(await refused('group-alias', { ...body, id: 'none' })).toBe('invalid group alias ID')
    expect(await refused('group-alias', { ...body, canonical_id: 'none' })).toBe(
      "invalid group ID given in 'canonical_id'",
    )
    expect(await refused('group-alias', { ...body, canonical_id: internal })).toBe(
      "alias can't be set on an internal group",
    )
    expect(await refused('group-alias', { ...body, name: 'devs' })).toBe(used)
    expect(await refused(`group-alias/id/${other?.id}`, { name: 'devs' })).toBe(used)
    expect(await read(`group-alias/id/${other?.id}`)).toMatchObject({ canonical_id: ops, name: 'ops' })
  })
})

it('a lookup finds a group by id, by name, by alias id, and by alias name at a mount, also on a secondary', async () => {
  const id = await group('devs', { type: 'external' })
  const made = await alias({ canonical_id: id })
  identity.state.isReadOnly = true
  for (const body of [
    { id },
    { name: 'Devs' },
    { alias_id: String(made?.id) },
    { alias_name: 'devs', alias_mount_accessor: 'auth_userpass_1' },
  ]) {
    expect(await write('lookup/group', body)).toEqual(await read(`group/id/${id}`))
  }
  expect(await write('lookup/group', { name: 'none' })).toBeUndefined()
  expect(await refused('lookup/group', {})).toBe('query parameter not supplied')
})

it('all writes of groups and their aliases go to the primary', async () => {
  identity.state.isReadOnly = true
  const writes: [Operation, string, JsonObject][] = [
    ['update', 'group', { id: 'not here yet', member_entity_ids: 'not here yet' }],
    ['update', 'group/name/x', {}],
    ['delete', 'group/id/not-here-yet', {}],
    ['delete', 'group/name/not-here-yet', {}],
    ['update', 'group-alias', { name: 'x', mount_accessor: 'not here yet' }],
    ['delete', 'group-alias/id/not-here-yet', {}],
  ]
  for (const [operation, path, body] of writes) {
    expect((await refusal(call(operation, path, body)))[0]).toBe('read-only')
  }
})

it('each namespace has its own groups, whose members are in the same namespace, and its removal deletes them', async () => {
  const [here, there] = [await entity('joe'), await entity('joe', {}, TEAM)]
  const own = await group('devs', { member_entity_ids: here })
  const other = await group('devs', { member_entity_ids: there }, TEAM)
  await group('outer', { member_group_ids: other }, TEAM)
  expect(await read(`group/id/${other}`)).toBeUndefined()
  expect(await read(`group/id/${other}`, TEAM)).toMatchObject({ namespace_id: 'team1', member_entity_ids: [there] })
  expect(await refused('group', { id: other })).toBe('invalid group ID')
  expect(await refused('group/name/devs', { member_entity_ids: there })).toMatch(/^invalid entity ID/)
  expect(await refused('group/name/devs', { member_group_ids: other })).toMatch(/^invalid member group ID/)
  expect(await write('lookup/group', { id: own }, TEAM)).toBeUndefined()
  await identity.store.removeNamespace('team1')
  expect(await call('list', 'group/id/', {}, TEAM)).toBeUndefined()
  expect(dataOf(await call('list', 'group/id/'))).toMatchObject({ keys: [own] })
  await call('delete', 'group/name/devs')
  await call('delete', 'entity/name/joe')
  expect(await storedKeys()).toEqual([])
})

it('concurrent changes of the members of one group leave both sides equal', async () => {
  const ids = await Promise.all(Array.from({ length: 10 }, (_, n) => entity(`e${n}`)))
  await Promise.all(ids.map((id) => write('group/name/devs', { member_entity_ids: id })))
  const { id, member_entity_ids: members } = (await read('group/name/devs')) ?? {}
  const inGroup = await Promise.all(ids.map(async (one) => (await read(`entity/id/${one}`))?.group_ids))
  expect(members).toHaveLength(1)
  expect(inGroup.filter((groups) => String(groups) === String(id))).toHaveLength(1)
})

describe('an external group', () => {
  const login = (groups?: readonly string[], more: object = {}) =>
    identity.store.findOrCreate({
      mountAccessor: 'auth_userpass_1',
      namespaceId: 'root',
      name: 'joe',
      metadata: {},
      groups,
      ...more,
    })
  const external = async (name: string, aliasName: string, accessor = 'auth_userpass_1') => {
    const id = await group(name, { type: 'external', policies: [name] })
    await alias({ canonical_id: id, name: aliasName, mount_accessor: accessor })
    return id
  }
  const membersOf = async (name: string) => (await read(`group/name/${name}`))?.member_entity_ids ?? []

  it('the groups that a login reports replace the membership of its entity', async () => {
    await external('devs', 'd')
    await external('ops', 'o')
    const { id } = await login(['d', 'd', 'unknown', ''])
    expect([await membersOf('devs'), await membersOf('ops'), policiesOf(id)]).toEqual([[id], [], ['devs']])
    await login(['o'])
    expect([await membersOf('devs'), await membersOf('ops'), policiesOf(id)]).toEqual([[], [id], ['ops']])
    await login([])
    expect([await membersOf('ops'), policiesOf(id)]).toEqual([[], []])
  })

  it('a login that reports no groups, or the same groups, changes nothing', async () => {
    await external('devs', 'd')
    const { id } = await login(['d'])
    const { writes } = identity.harness.storage
    await login(['d', 'unknown'])
    await login(undefined)
    expect([identity.harness.storage.writes, policiesOf(id)]).toEqual([writes, ['devs']])
  })

  it('a login changes only external groups with an alias on its mount', async () => {
    const { id } = await login()
    await group('inner', { member_entity_ids: id })
    await external('other', 'd', 'auth_approle_1')
    await external('devs', 'd')
    await login(['d', 'inner'])
    expect([await membersOf('other'), await membersOf('devs')]).toEqual([[], [id]])
    await login([])
    expect([await membersOf('inner'), await membersOf('devs')]).toEqual([[id], []])
    const elsewhere = await login(['d'], { mountAccessor: 'auth_approle_1', name: 'id' })
    expect(await membersOf('other')).toEqual([elsewhere.id])
  })

  it('the groups that contain an external group apply to its members', async () => {
    const devs = await external('devs', 'd')
    await group('outer', { policies: ['outer'], member_group_ids: devs })
    expect(policiesOf((await login(['d'])).id)).toEqual(['devs', 'outer'])
  })

  it('an external group loses its members with its alias, but not by an unchanged alias', async () => {
    const id = await external('devs', 'd')
    const entityId = (await login(['d'])).id
    const shown = (await read(`group/id/${id}`)) ?? {}
    const { id: aliasId } = shown.alias as JsonObject
    await write(`group-alias/id/${aliasId}`, { name: 'd', mount_accessor: 'auth_userpass_1' })
    expect(policiesOf(entityId)).toEqual(['devs'])
    await write(`group-alias/id/${aliasId}`, { name: 'e', mount_accessor: 'auth_userpass_1' })
    expect([await membersOf('devs'), policiesOf(entityId)]).toEqual([[], []])
    await login(['e'])
    expect(policiesOf(entityId)).toEqual(['devs'])
    await call('delete', `group-alias/id/${aliasId}`)
    expect([await membersOf('devs'), policiesOf(entityId)]).toEqual([[], []])
  })

  it('changed groups need a cluster that can write, and unchanged groups do not', async () => {
    await external('devs', 'd')
    const { id } = await login(['d'])
    identity.harness.storage.writeError = readOnly()
    expect((await login(['d'])).id).toBe(id)
    expect((await login(['d'], { metadata: { changed: 'yes' } })).id).toBe(id)
    expect((await refusal(login([])))[0]).toBe('read-only')
  })
})
