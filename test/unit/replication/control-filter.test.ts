import { expect, test } from 'vitest'
import { LIMITS } from '../../../src/base/limits.js'
import { FilterStore } from '../../../src/replication/filter/filter-store.js'
import {
  compileFilter,
  findSingleton,
  findUnknown,
  type MountFact,
  type NamespaceFact,
  normalizePaths,
} from '../../../src/replication/model/compile-filter.js'
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

test('a deny rule withholds exactly the named mounts', () => {
  const filter = compile('deny', 'EU_data/')
  expect(filter.isFiltered('logical/eu/secret')).toBe(true)
  expect(filter.isFiltered('logical/us/secret')).toBe(false)
  expect(filter.isFiltered('core/mounts/eu')).toBe(false)
  expect(filter.dynamicMounts).toEqual([])
})

test('an allow rule withholds all mounts except named, local and required ones', () => {
  const filter = compile('allow', 'US_data/')
  expect([...filter.filteredMounts].sort()).toEqual(['eu', 'nkv', 'nrole', 'role'])
  expect(filter.isFiltered('auth/role/salt')).toBe(true)
  expect(filter.isFiltered('logical/sys/x')).toBe(false)
  expect([...filter.hiddenNamespaces].sort()).toEqual(['ns1/', 'ns1/child/', 'other/'])
})

test.each(['allow', 'deny'] as const)(
  '%s of a namespace covers all its mounts, and lists those that it does not name',
  (mode) => {
    const filter = compile(mode, 'ns1/')
    expect(filter.dynamicMounts).toEqual(['ns1/auth/approle/', 'ns1/kv/'])
    expect(filter.dynamicNamespaces).toEqual(['ns1/child/'])
    expect(filter.filteredMounts.has('nkv')).toBe(mode === 'deny')
    expect([...filter.hiddenNamespaces].sort()).toEqual(mode === 'deny' ? ['ns1/', 'ns1/child/'] : ['other/'])
  },
)

test('a namespace with an allowed mount stays visible', () => {
  const filter = compile('allow', 'ns1/kv/')
  expect(filter.filteredMounts.has('nkv')).toBe(false)
  expect(filter.filteredMounts.has('nrole')).toBe(true)
  expect(filter.hiddenNamespaces.has('ns1/')).toBe(false)
})

test('filter paths are normalized and unique, in the given order', () => {
  expect(normalizePaths(['secret', '/secret/', 'b//', ' ', 'auth/approle'])).toEqual(['secret/', 'b/', 'auth/approle/'])
})

test('singleton mounts cannot be filtered; unknown paths and paths below a mount are reported', () => {
  for (const path of ['sys/', 'identity/', 'auth/token/', 'cubbyhole/', 'ns1/sys/', 'ns1/child/auth/token/']) {
    expect(findSingleton([path], MOUNTS, NAMESPACES), path).toBe(path)
  }
  expect(findSingleton(['EU_data/', 'ns1/'], MOUNTS, NAMESPACES)).toBeUndefined()
  expect(findUnknown(['EU_data/', 'EU_data/a/', 'nothing/', 'ns1/'], MOUNTS, NAMESPACES)).toEqual([
    'EU_data/a/',
    'nothing/',
  ])
  expect(compile('deny', 'EU_data/a/').filteredMounts.size).toBe(0)
})

test('fingerprints are equal for equal rules over equal mounts, and differ otherwise', () => {
  expect(compile('deny', 'EU_data/').fingerprint).toBe(compile('deny', 'EU_data/').fingerprint)
  expect(compile('deny', 'EU_data/').fingerprint).not.toBe(compile('deny', 'US_data/').fingerprint)
  expect(compile('deny', 'ns1/').fingerprint).not.toBe(
    compileFilter({ mode: 'deny', paths: ['ns1/'] }, MOUNTS.slice(0, 3), NAMESPACES).fingerprint,
  )
})

const move = (from: MountFact, path: string, namespacePath = ''): MountFact => ({ ...from, path, namespacePath })
const EU = mount('eu', 'EU_data/')
const US = mount('us', 'US_data/')
const NKV = mount('nkv', 'ns1/kv/', { namespacePath: 'ns1/' })

/** Creates filters that follow the writes to the storage. */
const createFilters = (
  options: { storage?: MemoryStorage } & Partial<ConstructorParameters<typeof FilterStore>[0]>,
) => {
  const storage = options.storage ?? new MemoryStorage()
  const filters = new FilterStore({ mounts: () => MOUNTS, namespaces: () => NAMESPACES, ...options, storage })
  storage.onChange((key) => filters.invalidate(key))
  return filters
}

/** Creates a filter for `c`, whose mounts move as on a primary. */
const createWorld = async (mode: 'allow' | 'deny', ...paths: string[]) => {
  let mounts = MOUNTS
  const storage = new MemoryStorage()
  const filters = createFilters({ storage, mounts: () => mounts })
  await filters.put('c', { mode, paths })
  expect(filters.noteChange('c')).toBe(true)
  const change = async (before: MountFact, after: MountFact | undefined, fails = false): Promise<void> => {
    let settled = () => {}
    const stored = storage.write((tx) => {
      settled = filters.followMount(tx, { before, after })
      mounts = mounts.flatMap((row) => (row.uuid === before.uuid ? (after ?? []) : row))
      if (fails) throw new Error('no space left on device')
    })
    // The table has the new path; the record is not stored yet.
    expect(filters.compiled('c')?.filteredMounts.has(before.uuid)).toBe(true)
    await stored.finally(() => {
      if (fails) mounts = MOUNTS
      settled()
    })
  }
  const shows = (uuid: string) => !filters.compiled('c')?.isFiltered(`logical/${uuid}/secret`)
  const add = (row: MountFact) => {
    mounts = [...mounts, row]
  }
  return { filters, change, add, shows, paths: () => filters.find('c')?.paths }
}

test('a denied mount stays denied after a move, and the rule shows its new path', async () => {
  const world = await createWorld('deny', 'EU_data/', 'x/')
  await world.change(EU, move(EU, 'us-deny/'))
  expect([world.shows('eu'), world.paths()]).toEqual([false, ['us-deny/', 'x/']])
  await world.change(move(EU, 'us-deny/'), move(EU, 'ns1/in/', 'ns1/'))
  expect([world.shows('eu'), world.paths()]).toEqual([false, ['ns1/in/', 'x/']])
  world.add(mount('new', 'EU_data/'))
  expect(world.shows('new')).toBe(true)
  expect(world.filters.noteChange('c')).toBe(false)
})

test('a mount denied with its namespace stays denied outside of it, with its own path in the rule', async () => {
  const world = await createWorld('deny', 'ns1/')
  await world.change(NKV, move(NKV, 'kv/'))
  expect([world.shows('nkv'), world.paths()]).toEqual([false, ['ns1/', 'kv/']])
})

test('a mount that is not allowed stays so after a move into an allowed namespace or to an allowed path', async () => {
  const world = await createWorld('allow', 'ns1/', 'soon/')
  await world.change(EU, move(EU, 'ns1/eu/', 'ns1/'))
  await world.change(US, move(US, 'soon/'))
  expect([world.shows('eu'), world.shows('us'), world.paths()]).toEqual([false, false, ['ns1/']])
  expect(world.filters.compiled('c')?.dynamicMounts).not.toContain('ns1/eu/')
  // A new rule replaces all earlier decisions.
  await world.filters.put('c', { mode: 'allow', paths: ['ns1/eu/'] })
  expect(world.shows('eu')).toBe(true)
})

test('an allowed mount stays allowed at its new path, and the old path leaves the rule', async () => {
  let mounts = MOUNTS
  const storage = new MemoryStorage()
  const filters = createFilters({ storage, mounts: () => mounts })
  await filters.put('c', { mode: 'allow', paths: ['US_data/', 'ns1/'] })
  const { digest } = filters.known('c')
  const follow = async (before: MountFact, after: MountFact) => {
    const settled = await storage.write((tx) => filters.followMount(tx, { before, after }))
    mounts = mounts.map((row) => (row.uuid === before.uuid ? after : row))
    settled()
  }
  await follow(US, move(US, 'here/'))
  expect(filters.find('c')?.paths).toEqual(['here/', 'ns1/'])
  expect(filters.compiled('c')?.filteredMounts.has('us')).toBe(false)
  expect(filters.known('c').digest, 'nothing has to be compared').toBe(digest)
  // A mount that was allowed only through its namespace is not allowed outside of it.
  await follow(NKV, move(NKV, 'kv/'))
  expect(filters.compiled('c')?.filteredMounts.has('nkv')).toBe(true)
  expect(filters.known('c').digest).not.toBe(digest)
})

test('an unmounted mount leaves the rule, and stays filtered until its data is deleted', async () => {
  const world = await createWorld('deny', 'EU_data/', 'US_data/')
  await world.change(EU, undefined)
  world.add(mount('new', 'EU_data/'))
  expect(world.paths()).toEqual(['US_data/'])
  expect([world.shows('eu'), world.shows('new')]).toEqual([false, true])
})

test('an unmounted mount leaves an allow rule, so that a new mount at its path is not allowed', async () => {
  const storage = new MemoryStorage()
  const filters = createFilters({ storage })
  await filters.put('c', { mode: 'allow', paths: ['US_data/', 'auth/approle/'] })
  const settled = await storage.write((tx) => filters.followMount(tx, { before: US, after: undefined }))
  settled()
  expect(filters.find('c')?.paths).toEqual(['auth/approle/'])
})

test('a deleted namespace leaves every rule with all its mounts', async () => {
  const storage = new MemoryStorage()
  const filters = createFilters({ storage })
  const paths = ['ns1/', 'ns1/kv/', 'US_data/']
  await filters.put('allows', { mode: 'allow', paths })
  await filters.put('denies', { mode: 'deny', paths })
  const settled = await storage.write((tx) => filters.followNamespaceGone(tx, { id: 'n1', path: 'ns1/' }))
  settled()
  expect(filters.find('allows')?.paths).toEqual(['US_data/'])
  expect(filters.find('denies')?.paths).toEqual(['US_data/'])
})

test('the number of filters is limited, including those of unknown IDs', async () => {
  const filters = createFilters({})
  const rule = { mode: 'deny', paths: ['EU_data/'] } as const
  await Promise.all(Array.from({ length: LIMITS.filtersMax - 1 }, (_, n) => filters.put(`id-${n}`, rule)))
  await filters.put('last', rule)
  await expect(filters.put('one-more', rule)).rejects.toThrow('the limit of 2048 filters is reached')
  await filters.put('last', { mode: 'allow', paths: [] })
  await filters.delete('id-7')
  await filters.put('one-more', rule)
})

test('a failed move changes no rule', async () => {
  const world = await createWorld('deny', 'EU_data/')
  await expect(world.change(EU, move(EU, 'kv/'), true)).rejects.toThrow('no space')
  expect([world.shows('eu'), world.paths()]).toEqual([false, ['EU_data/']])
})

test('rules that were not read since the start follow moves as well', async () => {
  const storage = new MemoryStorage()
  await createFilters({ storage }).put('unregistered', { mode: 'deny', paths: ['EU_data/'] })
  const filters = createFilters({ storage })
  await filters.load()
  const settled = await storage.write((tx) => filters.followMount(tx, { before: EU, after: move(EU, 'kv/') }))
  settled()
  expect(filters.find('unregistered')?.paths).toEqual(['kv/'])
})

test('a filter change is reported once when it withholds a new mount, is replaced or is deleted', async () => {
  const { filters, change } = await createWorld('deny', 'ns1/')
  const isNoted = () => [filters.noteChange('c'), filters.noteChange('c')]
  await change(NKV, move(NKV, 'kv/'))
  expect(isNoted()).toEqual([false, false])
  await change(US, move(US, 'ns1/us/', 'ns1/'))
  expect(isNoted()).toEqual([true, false])
  await filters.put('c', { mode: 'deny', paths: ['ns1/'] })
  expect(isNoted()).toEqual([true, false])
  await filters.delete('c')
  expect(isNoted()).toEqual([true, false])
})
