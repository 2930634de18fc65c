import { setImmediate } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { MemoryEngine } from '../../../src/storage/engine/memory-engine.js'
import type { Store, StoreOptions } from '../../../src/storage/store/store.js'
import { FaultyNetwork, openDiskStore, openStore, pair, put, stopAll } from '../../support/replication-fixture.js'
import { until } from '../../support/until.js'

afterEach(stopAll)

const engines = [
  { name: 'in memory', open: (options?: Partial<StoreOptions>) => openStore(undefined, options) },
  { name: 'on disk', open: openDiskStore },
]

const writeMany = async (store: Store, from: number, count: number): Promise<void> => {
  const writes: Promise<unknown>[] = []
  for (let i = from; i < from + count; i++) writes.push(put(store, `logical/x/${i % 700}`, `value ${i}`))
  await Promise.all(writes)
}

describe.each(engines)('a secondary after an outage, $name', ({ open }) => {
  test('a secondary after an outage continues from the log on disk without a comparison', async () => {
    const network = new FaultyNetwork()
    // With a small memory buffer, the missing entries are read from disk.
    const a = await open({ ringBytes: 4096 })
    const b = await open()
    await writeMany(a, 0, 100)
    const { secondary } = await pair('dr', a, b, { network })
    await secondary.caughtUp(a, 'dr')
    network.down()
    await until(() => secondary.follower.connectionState === 'transient_failure')
    expect(secondary.follower.state).toBe('stream-wals')
    for (let i = 0; i < 300; i++) await put(a, `logical/x/${i}`, 'z'.repeat(200))
    secondary.states.length = 0
    network.isDown = false
    await secondary.caughtUp(a, 'dr')
    expect(secondary.states).toEqual(['stream-wals'])
    expect(b.get('logical/x/299')?.toString()).toBe('z'.repeat(200))
  })

  test('a secondary whose position was trimmed compares data while the primary keeps writing', async () => {
    const network = new FaultyNetwork()
    const a = await open({ walRetentionEntries: 16, ringBytes: 4096 })
    const b = await open()
    await writeMany(a, 0, 500)
    await put(a, 'sys/token/id/gone', 'x')
    const { secondary } = await pair('dr', a, b, { network })
    await secondary.caughtUp(a, 'dr')
    network.down()
    await until(() => secondary.follower.connectionState === 'transient_failure')
    for (let i = 0; i < 200; i++) await put(a, `logical/x/${i}`, `away ${i}`)
    await a.write((tx) => tx.delete('sys/token/id/gone'))
    await until(() => a.firstIndex > (secondary.follower.applied?.index ?? 0) + 1)
    let isWriting = true
    const writer = (async () => {
      for (let i = 0; isWriting; i++) {
        await put(a, `logical/y/${i % 400}`, `busy ${i}`)
        // Unlike a real client, the memory engine responds within the same turn of the event loop.
        await setImmediate()
      }
    })()
    secondary.states.length = 0
    network.isDown = false
    await until(() => secondary.states.includes('merkle-sync') && secondary.follower.state === 'stream-wals')
    isWriting = false
    await writer
    await secondary.caughtUp(a, 'dr')
    expect(secondary.states.slice(0, 4)).toEqual(['stream-wals', 'merkle-diff', 'merkle-sync', 'stream-wals'])
    expect(b.get('logical/x/150')?.toString()).toBe('away 150')
    expect(b.get('sys/token/id/gone')).toBeUndefined()
  })
})

describe('a secondary with diverged data', () => {
  test('a secondary with diverged data detects it by the next write to the same key, and becomes equal', async () => {
    const [a, b] = [await openStore(), await openStore()]
    await writeMany(a, 0, 300)
    const { secondary } = await pair('dr', a, b)
    await secondary.caughtUp(a, 'dr')
    await put(b, 'logical/x/5', 'written behind its back')
    await put(b, 'logical/x/extra', 'never on the primary')
    await put(a, 'logical/x/5', 'new')
    await until(() => secondary.states.includes('merkle-sync'))
    await secondary.caughtUp(a, 'dr')
    expect(b.get('logical/x/5')?.toString()).toBe('new')
    expect(b.get('logical/x/extra')).toBeUndefined()
  })

  test('a secondary with a corrupted tree rebuilds it and keeps streaming', async () => {
    const network = new FaultyNetwork()
    const [a, b] = [await openStore(new MemoryEngine(), { walRetentionEntries: 16 }), await openStore()]
    await writeMany(a, 0, 300)
    const { secondary } = await pair('dr', a, b, { network })
    await secondary.caughtUp(a, 'dr')
    network.down()
    b.corruptPage('replicated', 7)
    await until(() => secondary.follower.connectionState === 'transient_failure')
    for (let i = 0; i < 60; i++) await put(a, `logical/x/${i}`, 'later')
    await until(() => a.firstIndex > (secondary.follower.applied?.index ?? 0) + 1)
    network.isDown = false
    await secondary.caughtUp(a, 'dr')
    expect(secondary.reindexed).toBe(1)
  })
})
