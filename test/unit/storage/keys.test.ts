import { expect, it } from 'vitest'
import {
  categoryOf,
  FAMILIES,
  findCategory,
  findFamily,
  findMountOf,
  isPlainKey,
  KEYS,
} from '../../../src/storage/keys/key-families.js'

it('key families do not overlap', () => {
  for (const { at, isFolder } of FAMILIES) {
    const within = FAMILIES.filter((other) => (isFolder ? other.at.startsWith(at) : other.at === at))
    expect(within.map((other) => other.at)).toEqual([at])
  }
})

it('the key table finds the family of every key, and of no similar key', () => {
  for (const family of FAMILIES) {
    const { at, isFolder } = family
    expect(findFamily(at)).toBe(family)
    expect(findFamily(`${at}x/é/y`)).toBe(isFolder ? family : undefined)
    expect(findFamily(`x${at}`)).toBeUndefined()
    expect(findFamily(at.slice(0, -1))).toBeUndefined()
  }
})

it('the key table returns nothing for a damaged key', () => {
  for (const key of ['', '/', 'core', 'core/', 'core/x', 'sys/', '\u{1F511}', 'logical', 'LOGICAL/x']) {
    expect([findCategory(key), isPlainKey(key), findMountOf(key)]).toEqual([undefined, false, undefined])
    expect(() => categoryOf(key)).toThrow('no category for the storage key')
  }
})

it('the key table names the mount of a data key', () => {
  expect(findMountOf('logical/m1/data/a')).toEqual({ category: 'replicated', uuid: 'm1', rest: 'data/a' })
  expect(findMountOf('auth/m2/role/')).toEqual({ category: 'replicated', uuid: 'm2', rest: 'role/' })
  expect(findMountOf('local/logical/m1/x')).toEqual({ category: 'local', uuid: 'm1', rest: 'x' })
  expect(findMountOf('local/auth/m2/x')).toEqual({ category: 'local', uuid: 'm2', rest: 'x' })
  for (const key of ['logical/m1', `${KEYS.policies}root/p`, `${KEYS.localCleanupOrders}m1`, `${KEYS.cubbyholes}a/b`]) {
    expect(findMountOf(key)).toBeUndefined()
  }
})
