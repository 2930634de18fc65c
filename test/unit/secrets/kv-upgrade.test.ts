import { describe, expect, it } from 'vitest'
import { V1_PREFIX } from '../../../src/secrets/kv/layout.js'
import { createKvV1, createKvV2 } from '../../../src/secrets/kv/backend.js'
import { upgradeToV2 } from '../../../src/secrets/kv/upgrade.js'
import { BackendHarness, dataOf } from '../../support/backend-harness.js'
import type { MemoryStorage } from '../../support/memory-storage.js'

const v1With = async (count: number) => {
  const kv = new BackendHarness(createKvV1)
  for (let n = 0; n < count; n++) await kv.write(`dir/key${n}`, { n })
  return kv
}

const openAsV2 = (storage: MemoryStorage) => new BackendHarness((context) => createKvV2({ ...context, storage }))

describe('the upgrade from KV version 1 to 2', () => {
  it('the KV upgrade makes every secret the first version of its key', async () => {
    const { storage, clock } = await v1With(250)
    expect(await storage.keys(V1_PREFIX)).toHaveLength(250)
    await upgradeToV2(storage, clock.now())
    expect(await storage.keys(V1_PREFIX)).toEqual([])
    const kv = openAsV2(storage)
    expect(dataOf(await kv.read('data/dir/key249'))).toMatchObject({ data: { n: 249 }, metadata: { version: 1 } })
    expect((dataOf(await kv.list('metadata/dir')) as { keys: string[] }).keys).toHaveLength(250)
  })

  it('the KV upgrade continues after an interruption', async () => {
    const { storage, clock } = await v1With(250)
    const real = storage.write.bind(storage)
    let left = 1
    storage.write = (fn) => (left-- > 0 ? real(fn) : Promise.reject(new Error('power loss')))
    await expect(upgradeToV2(storage, clock.now())).rejects.toThrow('power loss')
    expect(await storage.keys(V1_PREFIX)).not.toEqual([])
    storage.write = real
    await upgradeToV2(storage, clock.now())
    expect(await storage.keys('metadata/')).toHaveLength(250)
    expect(await storage.keys('versions/')).toHaveLength(250)
    expect(await storage.keys('')).toHaveLength(500)
  })
})
