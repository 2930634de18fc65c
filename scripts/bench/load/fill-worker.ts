import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { MountEntry } from '../../../src/core/mounts/mount-entry.js'
import type { FillAnswer, FillTask } from './plan.js'

/**
 * Writes many keys to a KV version 1 mount of a stopped server, through the store and barrier of the measured build.
 * Each key is one transaction with its log entry and tree leaf, encrypted and durable, as a server writes it after it
 * has parsed, authorized and audited a request.
 */
const [dist = ''] = process.argv.slice(2)
const load = <T>(file: string): Promise<T> => import(pathToFileURL(path.join(dist, file)).href) as Promise<T>
const { systemClock } = await load<typeof import('../../../src/base/clock.js')>('base/clock.js')
const { silentLog } = await load<typeof import('../../../src/base/log.js')>('base/log.js')
const { createSystemRandom } = await load<typeof import('../../../src/base/random.js')>('base/random.js')
const { loadServerConfig } = await load<typeof import('../../../src/server/config/server-config.js')>(
  'server/config/server-config.js',
)
const { openStore } = await load<typeof import('../../../src/server/data/open-store.js')>('server/data/open-store.js')
const { createSealStorage } =
  await load<typeof import('../../../src/server/wiring/seal-parts.js')>('server/wiring/seal-parts.js')
const { openGenerations } = await load<typeof import('../../../src/storage/engine/generations.js')>(
  'storage/engine/generations.js',
)
const { Barrier } = await load<typeof import('../../../src/storage/barrier/barrier.js')>('storage/barrier/barrier.js')
const { SealKeys } = await load<typeof import('../../../src/core/seal/seal-keys.js')>('core/seal/seal-keys.js')
const { dataPrefix } =
  await load<typeof import('../../../src/core/mounts/mount-entry.js')>('core/mounts/mount-entry.js')
const { readJson } = await load<typeof import('../../../src/logical/storage.js')>('logical/storage.js')
const { V1_PREFIX } = await load<typeof import('../../../src/secrets/kv/layout.js')>('secrets/kv/layout.js')

const random = createSystemRandom()

const readConfig = (file: string) => {
  const { config } = loadServerConfig([`-config=${file}`], {})
  if (!config?.storage.path) throw new Error(`${file} names no storage`)
  return { config, directory: config.storage.path }
}

type OpenBarrier = InstanceType<typeof Barrier>

const prefixOf = async (barrier: OpenBarrier, mount: string): Promise<string> => {
  const storage = barrier.view('')
  for (const key of await storage.keys('core/mounts/')) {
    const entry = readJson<MountEntry>(storage, key)
    if (entry?.path === mount) return dataPrefix(entry) + V1_PREFIX
  }
  throw new Error(`the server has no mount ${mount}`)
}

const write = async (barrier: OpenBarrier, task: FillTask): Promise<void> => {
  const storage = barrier.view(await prefixOf(barrier, task.mount))
  const value = Buffer.from(task.body)
  let next = 0
  const writer = async () => {
    while (next < task.keys) {
      const name = task.name.replace('{n}', String(next++))
      await storage.write((tx) => tx.put(name, value))
    }
  }
  await Promise.all(Array.from({ length: task.writers }, writer))
}

const fill = async (task: FillTask): Promise<FillAnswer> => {
  const { config, directory } = readConfig(task.config)
  const source = await openGenerations(directory, silentLog)
  try {
    const store = await openStore(source.engine, { config, clock: systemClock, random, log: silentLog })
    const barrier = new Barrier({ store, clock: systemClock, random })
    const shares = task.unsealKeys.map((key) => Buffer.from(key, 'hex'))
    const rootKey = await new SealKeys({ storage: createSealStorage(store), random }).findRootKey(shares)
    if (!rootKey) throw new Error('the keys do not decrypt the storage')
    barrier.unseal(rootKey)
    await write(barrier, task)
    await store.close()
  } finally {
    await source.close()
  }
  return { ok: true }
}

process.on('message', (task: FillTask) => {
  fill(task).then(
    (answer) => process.send?.(answer),
    (error: unknown) => process.send?.({ ok: false, error: String(error) } satisfies FillAnswer),
  )
})
process.on('disconnect', () => process.exit(0))
