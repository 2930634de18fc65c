import { expect, test } from 'vitest'
import { createSeededRandom } from '../../../src/base/random.js'
import {
  defaultMounts,
  ENTRY_PREFIXES,
  localDataPrefix,
  type MountEntry,
} from '../../../src/core/mounts/mount-entry.js'
import { MountTable } from '../../../src/core/mounts/mount-table.js'
import { MountService } from '../../../src/core/mounts/mounts.js'
import { NamespaceStore } from '../../../src/core/namespaces/namespaces.js'
import { MountCleanup } from '../../../src/core/mounts/cleanup.js'
import type { BackendType } from '../../../src/logical/backend.js'
import { ROOT_NAMESPACE } from '../../../src/logical/request.js'
import { KEYS } from '../../../src/storage/keys/key-families.js'
import { MemoryStorage } from '../../support/memory-storage.js'

const LEASES = { defaultLeaseTtlSeconds: 60, maxLeaseTtlSeconds: 60 }
const [ROW] = defaultMounts(
  ROOT_NAMESPACE,
  () => 'uuid',
  (prefix) => `${prefix}_1`,
)

const mount = (path: string): MountEntry => {
  if (!ROW) throw new Error('no default mounts')
  return { ...ROW, type: 'kv', uuid: `uuid-${path}`, accessor: `kv_${path}`, path }
}

const createMounts = () => {
  const storage = new MemoryStorage()
  const namespaces = new NamespaceStore(storage)
  const table = new MountTable(storage, namespaces)
  storage.onChange((key) => {
    if (key.startsWith(KEYS.namespaces)) namespaces.refresh(key)
    else if (ENTRY_PREFIXES.some((prefix) => key.startsWith(prefix))) table.refresh(key)
  })
  const mounts = new MountService({
    table,
    types: new Map<string, BackendType>(),
    cleanup: new MountCleanup(storage),
    leaseDefaults: LEASES,
    revokeTokens: async () => undefined,
    withoutLeases: (_entry, change) => change(),
    random: createSeededRandom('mounts'),
  })
  return { storage, namespaces, table, mounts }
}

const pathsOf = (table: MountTable): string[] => table.all().map(({ path }) => path)

test('one of two concurrent moves to one path succeeds', async () => {
  const { table, mounts } = createMounts()
  const [a, b] = [mount('a/'), mount('b/')]
  await table.add([a, b])
  const moves = await Promise.allSettled([mounts.remount(a, 'c/'), mounts.remount(b, 'c/')])
  expect(moves.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  expect(pathsOf(table).sort()).toEqual(['b/', 'c/'])
})

test('a move to a used path names its mount, and a move to a reserved path is rejected', async () => {
  const { table, mounts } = createMounts()
  const a = mount('a/')
  await table.add([a, mount('cubbyhole/')])
  await expect(mounts.remount(a, 'cubbyhole/')).rejects.toThrow('path already in use at "cubbyhole/"')
  await expect(mounts.remount(a, 'auth/x/')).rejects.toThrow('cannot mount "auth/x/"')
  expect(pathsOf(table).sort()).toEqual(['a/', 'cubbyhole/'])
})

test('a mount cannot move to a path where another one is being enabled', async () => {
  const { table, mounts } = createMounts()
  const a = mount('a/')
  await table.add([a])
  const both = await Promise.allSettled([mounts.remount(a, 'c/'), table.add([mount('c/')])])
  expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect(pathsOf(table).filter((path) => path === 'c/')).toHaveLength(1)
})

test('a failed move does not change the path of the mount', async () => {
  const { storage, table, mounts } = createMounts()
  const a = mount('a/')
  await table.add([a])
  storage.writeError = new Error('no space left on device')
  await expect(mounts.remount(a, 'c/')).rejects.toThrow('no space')
  expect(pathsOf(table)).toEqual(['a/'])
})

test('two concurrent requests create a namespace once', async () => {
  const { namespaces } = createMounts()
  const make = (id: string) => namespaces.add({ id, path: 'ns1/', customMetadata: {} }, () => undefined)
  const [one, two] = await Promise.all([make('aaaaa'), make('bbbbb')])
  expect(two).toBe(one)
  expect(namespaces.find('ns1/')?.id).toBe('aaaaa')
  expect(namespaces.all().map(({ id }) => id)).toEqual(['root', 'aaaaa'])
})

test('one of a namespace and a mount created concurrently at one path succeeds', async () => {
  const { namespaces, table } = createMounts()
  const both = await Promise.allSettled([
    table.add([mount('ns1/deep/')]),
    namespaces.add({ id: 'aaaaa', path: 'ns1/', customMetadata: {} }, (entry) => table.refuseNamespaceAt(entry)),
  ])
  expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  expect(namespaces.all().map(({ path }) => path)).toEqual([''])
})

const put = (storage: MemoryStorage, ...keys: string[]) =>
  storage.write((tx) => {
    for (const key of keys) tx.put(key, Buffer.from('{"prefixes":["local/logical/gone/","logical/gone/"]}'))
  })

test('pending cleanups of local data complete even if replicated data is read-only', async () => {
  const storage = new MemoryStorage()
  await put(storage, 'local/purge/gone', 'local/logical/gone/x', 'core/settings/purge/other')
  await new MountCleanup(storage).resume({ isSharedReadOnly: true })
  expect(await storage.keys('')).toEqual(['core/settings/purge/other'])
})

test('removing a replicated mount deletes its local data', async () => {
  const storage = new MemoryStorage()
  const entry = mount('a/')
  await put(storage, `${localDataPrefix(entry)}x`, 'local/logical/other/x')
  await new MountCleanup(storage).runLocal(entry)
  expect(await storage.keys('')).toEqual(['local/logical/other/x'])
})

test('an uncommitted mount occupies its path and is invisible', async () => {
  const { table, namespaces } = createMounts()
  const adding = table.add([mount('a/')])
  expect(pathsOf(table)).toEqual([])
  await expect(table.add([mount('a/b/')])).rejects.toThrow('path is already in use at a/')
  await adding
  expect(pathsOf(table)).toEqual(['a/'])
  const made = namespaces.add({ id: 'n1', path: 'ns1/', customMetadata: {} }, () => undefined)
  expect(namespaces.find('ns1/')).toBeUndefined()
  await expect(table.add([mount('ns1/')])).rejects.toThrow('path is already in use at ns1/')
  await made
  expect(namespaces.find('ns1/')?.id).toBe('n1')
})

test('a mount that failed to commit leaves no trace', async () => {
  const { storage, table, namespaces, mounts } = createMounts()
  const a = mount('a/')
  await table.add([a])
  storage.commitError = new Error('no space left on device')
  const failed = await Promise.allSettled([
    table.add([mount('b/')]),
    mounts.remount(a, 'c/'),
    namespaces.add({ id: 'n1', path: 'ns1/', customMetadata: {} }, () => undefined),
  ])
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  storage.commitError = undefined
  expect(pathsOf(table)).toEqual(['a/'])
  expect(namespaces.allDecided().map(({ path }) => path)).toEqual([''])
  for (const path of ['b/', 'c/', 'ns1/']) await table.add([mount(path)])
  expect(pathsOf(table).sort()).toEqual(['a/', 'b/', 'c/', 'ns1/'])
})

test.each(['../', '../x/', 'a/../b/', 'a/./b/', './', 'a//b/', 'a\tb/', 'a\u0000/', 'a\u202eb/', 'a\u00a0b/'])(
  'a mount cannot be created at or moved to the unreachable path %j',
  async (path) => {
    const { table, mounts } = createMounts()
    await table.add([mount('here/')])
    const [entry] = table.all()
    if (!entry) throw new Error('no mount')
    await expect(mounts.remount(entry, path)).rejects.toMatchObject({
      code: 'invalid-request',
      message: expect.stringMatching(/^invalid destination mount: path (".*" does not match|cannot contain)/),
    })
    await expect(
      mounts.enable('secret', ROOT_NAMESPACE, path, {
        ...{ type: 'kv', description: '', config: {}, options: null },
        ...{ isLocal: false, sealWrap: false, externalEntropyAccess: false },
      }),
    ).rejects.toThrow(/does not match cleaned path|non-printable/)
    expect(pathsOf(table)).toEqual(['here/'])
  },
)
