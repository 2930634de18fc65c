import { expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { type Log, silentLog } from '../../../src/base/log.js'
import { createSeededRandom } from '../../../src/base/random.js'
import { defaultMounts, entryKey, type MountEntry } from '../../../src/core/mounts/mount-entry.js'
import { MountTable } from '../../../src/core/mounts/mount-table.js'
import { NamespaceStore } from '../../../src/core/namespaces/namespaces.js'
import { type Presence, Router } from '../../../src/core/mounts/router.js'
import { LogicalError } from '../../../src/logical/errors.js'
import { ROOT_NAMESPACE } from '../../../src/logical/request.js'
import { putJson } from '../../../src/logical/storage.js'
import { kvType } from '../../../src/secrets/kv/backend.js'
import { MemoryStorage } from '../../support/memory-storage.js'

const [ROW] = defaultMounts(
  ROOT_NAMESPACE,
  () => 'uuid',
  (prefix) => `${prefix}_1`,
)

const mount = (isLocal: boolean): MountEntry => {
  if (!ROW) throw new Error('no default mounts')
  const name = isLocal ? 'local' : 'shared'
  return { ...ROW, type: 'kv', uuid: name, accessor: `kv_${name}`, path: 'same/', isLocal }
}

const createRouter = (log: Log, presence: Presence = 'here') => {
  const storage = new MemoryStorage()
  const namespaces = new NamespaceStore(storage)
  const table = new MountTable(storage, namespaces)
  storage.onChange((key) => void table.refresh(key))
  const router = new Router({
    table,
    worksInBackground: true,
    namespaces,
    types: new Map([['kv', kvType]]),
    singletons: new Map(),
    storageAt: () => storage,
    leaseDefaults: { defaultLeaseTtlSeconds: 60, maxLeaseTtlSeconds: 60 },
    isReadOnly: () => false,
    resolveTemplate: () => undefined,
    presenceOf: () => presence,
    clock: systemClock,
    random: createSeededRandom('router'),
    log,
  })
  return { storage, table, router }
}

test.each<[Presence, string | undefined]>([
  ['here', undefined],
  ['filtered', 'not-found: no handler for route "same/x". route entry found, but backend is nil.'],
  ['arriving', 'unavailable: the data of "same/" is still replicating to this cluster'],
  ['stranded', 'unavailable: the data of "same/" has not replicated to this cluster, which has no primary'],
])('data that is %s', (presence, text) => {
  const { router } = createRouter(silentLog, presence)
  let refused: string | undefined
  try {
    router.requirePresent(mount(false), {}, 'same/x')
  } catch (error) {
    refused = error instanceof LogicalError ? `${error.code}: ${error.message}` : String(error)
  }
  expect(refused).toBe(text)
})

test('a local mount hides a replicated one until its removal, and the log reports both', async () => {
  const lines: string[] = []
  const note = (message: string, fields?: Record<string, unknown>) => lines.push(`${message}: ${String(fields?.path)}`)
  const log: Log = { ...silentLog, info: note, warn: note, with: () => log }
  const { storage, table, router } = createRouter(log)
  const [local, shared] = [mount(true), mount(false)]
  const served = () => router.find(ROOT_NAMESPACE, 'same/x')?.mount.entry.accessor
  await table.add([local])
  // Like replication, which does not check whether the path is free.
  await storage.write((tx) => putJson(tx, entryKey(shared), shared))
  expect(served()).toBe('kv_local')
  expect(lines).toEqual(['a local mount hides a replicated mount: same/'])
  await table.remove(local)
  expect(served()).toBe('kv_shared')
  expect(lines[1]).toBe('a replicated mount is visible again after the removal of a local mount: same/')
  await router.closeAll()
  expect(lines).toHaveLength(2)
})
