import { expect, test } from 'vitest'
import { FilterStore } from '../../../src/replication/filter/filter-store.js'
import {
  compileFilter,
  findSingleton,
  findUnknown,
  type MountFact,
  type NamespaceFact,
  normalizePaths,
} from '../../../src/replication/filter/filter.js'
import { MemoryStorage } from '../../support/memory-storage.js'

const mount = (uuid: string, path: string, more: Partial<MountFact> = {}): MountFact => ({
  uuid,
  path,
  namespacePath: '',
  type: 'kv',
  isLocal: false,
  ...more,
})

const NAMESPACES: readonly NamespaceFact[] = [
  { id: 'root', path: '' },
  { id: 'n1', path: 'ns1/' },
  { id: 'n2', path: 'ns1/child/' },
  { id: 'n3', path: 'other/' },
]

const MOUNTS: readonly MountFact[] = [
  mount('sys', 'sys/', { type: 'system' }),
  mount('eu', 'EU_data/'),
  mount('us', 'US_data/'),
  mount('role', 'auth/approle/', { type: 'approle' }),
  mount('loc', 'local/', { isLocal: true }),
  mount('nsys', 'ns1/sys/', { type: 'system', namespacePath: 'ns1/' }),
  mount('nkv', 'ns1/kv/', { namespacePath: 'ns1/' }),
  mount('nrole', 'ns1/auth/approle/', { type: 'approle', namespacePath: 'ns1/' }),
]

const compile = (mode: 'allow' | 'deny', ...paths: string[]) => compileFilter({ mode, paths }, MOUNTS, NAMESPACES)

test('deny keeps what is named back and nothing else', () => {
  const filter = compile('deny', 'EU_data/')
  expect(filter.isHeldBack('logical/eu/secret')).toBe(true)
  expect(filter.isHeldBack('logical/us/secret')).toBe(false)
  expect(filter.isHeldBack('core/mounts/eu')).toBe(false)
  expect(filter.dynamicMounts).toEqual([])
})

test('allow keeps everything back but what is named, local mounts, and what every namespace needs', () => {
  const filter = compile('allow', 'US_data/')
  expect([...filter.heldMounts].sort()).toEqual(['eu', 'nkv', 'nrole', 'role'])
  expect(filter.isHeldBack('auth/role/salt')).toBe(true)
  expect(filter.isHeldBack('logical/sys/x')).toBe(false)
  expect([...filter.hiddenNamespaces].sort()).toEqual(['ns1/', 'ns1/child/', 'other/'])
})

test.each(['allow', 'deny'] as const)('%s of a namespace means all in it, and lists what it did not name', (mode) => {
  const filter = compile(mode, 'ns1/')
  expect(filter.dynamicMounts).toEqual(['ns1/auth/approle/', 'ns1/kv/'])
  expect(filter.dynamicNamespaces).toEqual(['ns1/child/'])
  expect(filter.heldMounts.has('nkv')).toBe(mode === 'deny')
  expect([...filter.hiddenNamespaces].sort()).toEqual(mode === 'deny' ? ['ns1/', 'ns1/child/'] : ['other/'])
})

test('a namespace stays while something in it is allowed', () => {
  const filter = compile('allow', 'ns1/kv/')
  expect(filter.heldMounts.has('nkv')).toBe(false)
  expect(filter.heldMounts.has('nrole')).toBe(true)
  expect(filter.hiddenNamespaces.has('ns1/')).toBe(false)
})

test('paths are normalised, kept in order, and taken once', () => {
  expect(normalizePaths(['secret', '/secret/', 'b//', ' ', 'auth/approle'])).toEqual(['secret/', 'b/', 'auth/approle/'])
})

test('singletons cannot be filtered; unknown paths and paths below a mount are pointed out', () => {
  for (const path of ['sys/', 'identity/', 'auth/token/', 'cubbyhole/', 'ns1/sys/', 'ns1/child/auth/token/']) {
    expect(findSingleton([path], MOUNTS, NAMESPACES), path).toBe(path)
  }
  expect(findSingleton(['EU_data/', 'ns1/'], MOUNTS, NAMESPACES)).toBeUndefined()
  expect(findUnknown(['EU_data/', 'EU_data/a/', 'nothing/', 'ns1/'], MOUNTS, NAMESPACES)).toEqual([
    'EU_data/a/',
    'nothing/',
  ])
  expect(compile('deny', 'EU_data/a/').heldMounts.size).toBe(0)
})

test('fingerprints are equal for equal rules over equal mounts, and differ otherwise', () => {
  expect(compile('deny', 'EU_data/').fingerprint).toBe(compile('deny', 'EU_data/').fingerprint)
  expect(compile('deny', 'EU_data/').fingerprint).not.toBe(compile('deny', 'US_data/').fingerprint)
  expect(compile('deny', 'ns1/').fingerprint).not.toBe(
    compileFilter({ mode: 'deny', paths: ['ns1/'] }, MOUNTS.slice(0, 3), NAMESPACES).fingerprint,
  )
})

test('an unmounted path leaves every rule, and the last deletions of its mount stay held back', async () => {
  let mounts = MOUNTS
  const filters = new FilterStore({ storage: new MemoryStorage(), mounts: () => mounts, namespaces: () => NAMESPACES })
  await filters.put('c', { mode: 'deny', paths: ['EU_data/', 'US_data/'] })
  expect(await filters.dropPath(mount('eu', 'EU_data/'), true)).toBe(true)
  mounts = [...MOUNTS.filter(({ uuid }) => uuid !== 'eu'), mount('new', 'EU_data/')]
  filters.invalidate()
  expect(filters.find('c')).toEqual({ mode: 'deny', paths: ['US_data/'] })
  expect(filters.compiled('c')?.isHeldBack('logical/eu/secret')).toBe(true)
  expect(filters.compiled('c')?.isHeldBack('logical/new/secret')).toBe(false)
})
