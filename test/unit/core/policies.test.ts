import { beforeEach, describe, expect, test } from 'vitest'
import type { EntityView } from '../../../src/core/acl/acl-pattern.js'
import { PolicyStore } from '../../../src/core/acl/policies.js'
import { ROOT_NAMESPACE } from '../../../src/logical/request.js'
import { MemoryStorage } from '../../support/memory-storage.js'

const READ_A = 'path "a" { capabilities = ["read"] }'
const READ_OWN = 'path "own/{{identity.entity.name}}" { capabilities = ["read"] }'
const TEAM = { id: 'n1', path: 'team/' }
const entityOf = (name: string): EntityView => ({ id: 'e1', name, metadata: {}, aliases: [] })

let storage: MemoryStorage
let policies: PolicyStore
const capabilities = (path: string, names: string[], entity?: EntityView, namespace = ROOT_NAMESPACE) =>
  policies.aclFor(names, namespace, entity).capabilities(path)

beforeEach(() => {
  storage = new MemoryStorage()
  policies = new PolicyStore({ storage })
  storage.onChange((key) => policies.invalidate(key))
})

describe('the store', () => {
  test('a policy text is stored byte for byte, and its name is case-insensitive', async () => {
    const text = '# ünïcode\r\npath "j/*" { capabilities = ["read","list"] }  \n'
    await policies.put('root', 'UP', text)
    expect(policies.find('root', 'uP')).toEqual({ name: 'up', text })
    await policies.remove('root', 'Up')
    expect(policies.find('root', 'up')).toBeUndefined()
  })

  test('the policy list is flat and sorted, with root and without the hidden policy', async () => {
    await policies.ensureDefaults('root')
    for (const name of ['b', 'team/x y', 'a', 'zebra']) await policies.put('root', name, READ_A)
    expect(await policies.list('root')).toEqual(['a', 'b', 'default', 'root', 'team/x y', 'zebra'])
  })

  test('policies of namespaces are separate', async () => {
    await policies.put('n1', 'p', READ_A)
    await policies.ensureDefaults('n1')
    expect(await policies.list('n1')).toEqual(['default', 'p'])
    expect(await policies.list('root')).toEqual(['root'])
    expect(policies.find('root', 'p')).toBeUndefined()
    expect(capabilities('a', ['p'], undefined, TEAM)).toEqual(['read'])
    expect(capabilities('a', ['p'])).toEqual(['deny'])
    await policies.removeAll('n1')
    expect(await policies.list('n1')).toEqual([])
    expect(capabilities('a', ['p'], undefined, TEAM)).toEqual(['deny'])
  })

  test.each([
    ['root', 'cannot update "root" policy', 'cannot delete "root" policy'],
    ['Response-Wrapping', 'cannot update "response-wrapping" policy', 'cannot delete "response-wrapping" policy'],
  ])('the policy %s cannot be changed', async (name, onPut, onRemove) => {
    await expect(policies.put('root', name, READ_A)).rejects.toThrow(onPut)
    await expect(policies.remove('root', name)).rejects.toThrow(onRemove)
    expect(storage.writes).toBe(0)
  })

  test('the default policy can be edited, not deleted, and is never overwritten', async () => {
    await policies.ensureDefaults('root')
    expect(capabilities('auth/token/lookup-self', ['default'])).toEqual(['read'])
    await policies.put('root', 'default', READ_A)
    await policies.ensureDefaults('root')
    expect(policies.find('root', 'default')?.text).toBe(READ_A)
    await expect(policies.remove('root', 'DEFAULT')).rejects.toThrow('cannot delete default policy')
  })

  test('an invalid policy text stores nothing', async () => {
    await expect(policies.put('root', 'x', 'path "x" {')).rejects.toThrow(/^failed to parse policy/)
    expect(storage.writes).toBe(0)
  })
})

describe('rules of a token', () => {
  test('the default and the wrapping policy give their documented rights', async () => {
    await policies.ensureDefaults('root')
    expect(capabilities('cubbyhole/x', ['default'])).toEqual(['create', 'delete', 'list', 'read', 'update'])
    expect(capabilities('sys/capabilities-self', ['default'])).toEqual(['update'])
    expect(capabilities('sys/mounts', ['default'])).toEqual(['deny'])
    expect(capabilities('identity/entity/id/e1', ['default'], entityOf('one'))).toEqual(['read'])
    expect(capabilities('identity/oidc/provider/any/authorize', ['default'])).toEqual(['read', 'update'])
    expect(capabilities('sys/wrapping/unwrap', ['response-wrapping'])).toEqual(['update'])
    expect(capabilities('cubbyhole/response', ['response-wrapping'])).toEqual(['create', 'read'])
  })

  test('the root policy gives root rights in the root namespace only', () => {
    expect(capabilities('x', ['root'])).toEqual(['root'])
    expect(capabilities('x', ['root'], undefined, TEAM)).toEqual(['deny'])
  })

  test('the rights of a token are the same object until a policy changes', async () => {
    await policies.put('root', 'p', READ_A)
    const before = policies.aclFor(['p'], ROOT_NAMESPACE, undefined)
    expect(policies.aclFor(['p'], ROOT_NAMESPACE, undefined)).toBe(before)
    await policies.put('root', 'p', 'path "a" { capabilities = ["list"] }')
    expect(capabilities('a', ['p'])).toEqual(['list'])
    await policies.remove('root', 'p')
    expect(capabilities('a', ['p'])).toEqual(['deny'])
    await policies.put('root', 'p', READ_A)
    expect(capabilities('a', ['P', 'unknown'])).toEqual(['read'])
  })

  test('rights that are computed during a write do not outlive it', async () => {
    await policies.put('root', 'p', READ_A)
    policies.invalidate('root/p')
    const write = policies.put('root', 'p', 'path "a" { capabilities = ["list"] }')
    expect(capabilities('a', ['p'])).toEqual(['read'])
    await write
    expect(capabilities('a', ['p'])).toEqual(['list'])
  })

  test('the rights of a token follow changes by replication', async () => {
    await policies.put('root', 'p', READ_A)
    expect(capabilities('a', ['p'])).toEqual(['read'])
    await storage.write((tx) => tx.delete('root/p'))
    expect(capabilities('a', ['p'])).toEqual(['deny'])
  })

  test('the rights of a token follow its entity, and are shared if no rule names the entity', async () => {
    await policies.put('root', 'own', READ_OWN)
    await policies.put('root', 'plain', READ_A)
    expect(capabilities('own/old', ['own'], entityOf('old'))).toEqual(['read'])
    const before = policies.aclFor(['own'], ROOT_NAMESPACE, entityOf('old'))
    expect(policies.aclFor(['own'], ROOT_NAMESPACE, entityOf('old'))).toBe(before)
    expect(capabilities('own/old', ['own'], entityOf('new'))).toEqual(['deny'])
    expect(capabilities('own/new', ['own'], entityOf('new'))).toEqual(['read'])
    expect(capabilities('own/new', ['own'])).toEqual(['deny'])
    const plain = policies.aclFor(['plain'], ROOT_NAMESPACE, entityOf('old'))
    expect(policies.aclFor(['plain'], ROOT_NAMESPACE, entityOf('new'))).toBe(plain)
  })

  test('the rights of a token cannot be computed if a stored policy is unreadable', async () => {
    await storage.write((tx) => tx.put('root/bad', Buffer.from('{"text":"path {"}')))
    expect(() => capabilities('a', ['bad'])).toThrow(
      'the stored policy "bad" cannot be parsed: write or delete it again',
    )
  })
})
