import { beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../support/manual-clock.js'
import { createSeededRandom } from '../../../src/base/random.js'
import { ENTITIES } from '../../../src/core/identity/identity-record.js'
import { IdentityStore } from '../../../src/core/identity/identity.js'
import { LogicalError } from '../../../src/logical/errors.js'
import { refusal } from '../../support/backend-harness.js'
import { MemoryStorage } from '../../support/memory-storage.js'

const ALIAS = { mountAccessor: 'auth_approle_1', name: 'id-1', metadata: { role_name: 'a' }, namespaceId: 'root' }

let storage: MemoryStorage
let identity: IdentityStore
beforeEach(() => {
  storage = new MemoryStorage()
  identity = new IdentityStore({ storage, random: createSeededRandom('identity'), clock: new ManualClock() })
  storage.onChange((key) => identity.invalidate(key))
})

describe('entities', () => {
  it('an entity is unique per namespace, mount and alias name', async () => {
    const entity = await identity.findOrCreate(ALIAS)
    expect((await identity.findOrCreate(ALIAS)).id).toBe(entity.id)
    for (const other of [{ name: 'id-2' }, { mountAccessor: 'auth_approle_2' }, { namespaceId: 'ns1' }]) {
      expect((await identity.findOrCreate({ ...ALIAS, ...other })).id).not.toBe(entity.id)
    }
  })

  it('an alias name must not be empty or too long', async () => {
    for (const name of ['', 'x'.repeat(4097)]) {
      expect((await refusal(identity.findOrCreate({ ...ALIAS, name })))[1]).toBe(
        'the alias name must have 1 to 4096 bytes',
      )
    }
    expect(await storage.keys('')).toEqual([])
  })

  it('concurrent logins of one alias create one entity', async () => {
    const entities = await Promise.all(Array.from({ length: 20 }, () => identity.findOrCreate(ALIAS)))
    expect(new Set(entities.map(({ id }) => id)).size).toBe(1)
    expect((await storage.keys('entity/')).length).toBe(1)
  })

  it('an entity shows its alias with the metadata of the last login', async () => {
    const { id } = await identity.findOrCreate(ALIAS)
    await identity.findOrCreate({ ...ALIAS, metadata: { role_name: 'b', team: 'blue' } })
    expect(identity.findEntity(id)).toMatchObject({
      id,
      aliases: [{ mountAccessor: 'auth_approle_1', name: 'id-1', metadata: { role_name: 'b', team: 'blue' } }],
    })
  })

  it('a login with the same metadata in any order does not write the entity', async () => {
    await identity.findOrCreate({ ...ALIAS, metadata: { a: '1', b: '2' } })
    const { writes } = storage
    await identity.findOrCreate({ ...ALIAS, metadata: { b: '2', a: '1' } })
    expect(storage.writes).toBe(writes)
  })

  it('an unchanged entity is the same object at each read', async () => {
    const { id } = await identity.findOrCreate(ALIAS)
    expect(identity.findEntity(id)).toBe(identity.findEntity(id))
    expect([identity.findEntity(''), identity.findEntity('none')]).toEqual([undefined, undefined])
  })
})

describe('where shared data cannot be written', () => {
  it('a new alias fails with read-only, and a known alias is found', async () => {
    const { id } = await identity.findOrCreate(ALIAS)
    storage.writeError = new LogicalError('read-only', 'forward it')
    expect((await identity.findOrCreate({ ...ALIAS, metadata: { role_name: 'z' } })).id).toBe(id)
    expect((await refusal(identity.findOrCreate({ ...ALIAS, name: 'new' })))[0]).toBe('read-only')
  })

  it('other failures are reported', async () => {
    await identity.findOrCreate(ALIAS)
    storage.writeError = new LogicalError('unavailable', 'the disk is full')
    expect((await refusal(identity.findOrCreate({ ...ALIAS, metadata: {} })))[0]).toBe('unavailable')
  })

  it('replicated entities are visible', async () => {
    const primary = new IdentityStore({ storage, random: createSeededRandom('primary'), clock: new ManualClock() })
    expect(identity.findByAlias(ALIAS)).toBeUndefined()
    const { id } = await primary.findOrCreate(ALIAS)
    expect(identity.findByAlias(ALIAS)?.id).toBe(id)
    await primary.findOrCreate({ ...ALIAS, metadata: { role_name: 'new' } })
    expect(identity.findEntity(id)?.aliases[0]?.metadata).toEqual({ role_name: 'new' })
  })
})

it('an entity in the earliest format is readable, and found by name after its next change', async () => {
  const first = { id: 'e-1', name: 'entity_1', metadata: {}, namespaceId: 'root' }
  const { id } = await identity.findOrCreate(ALIAS)
  const [aliasKey = ''] = await storage.keys('alias/')
  await storage.write((tx) => {
    tx.put(aliasKey, Buffer.from(JSON.stringify(first.id)))
    const { mountAccessor, name, metadata } = ALIAS
    tx.put('entity/e-1', Buffer.from(JSON.stringify({ ...first, aliases: [{ mountAccessor, name, metadata }] })))
  })
  const read = identity.findByAlias(ALIAS)
  expect(read).toMatchObject({ id: 'e-1', policies: null, isDisabled: false, aliases: [{ customMetadata: {} }] })
  expect(ENTITIES.findByName(storage, 'root', 'entity_1')).toBeUndefined()
  await identity.findOrCreate({ ...ALIAS, metadata: { role_name: 'b' } })
  expect(ENTITIES.findByName(storage, 'root', 'entity_1')?.id).toBe('e-1')
  expect(ENTITIES.findByAliasId(storage, 'root', read?.aliases[0]?.id ?? '')?.id).toBe('e-1')
  expect(id).not.toBe('e-1')
  await identity.removeNamespace('root')
  expect((await storage.keys('')).filter((key) => key.includes('e-1') || key === aliasKey)).toEqual([])
})
