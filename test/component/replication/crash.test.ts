import { afterEach, describe, expect, test } from 'vitest'
import type { Engine } from '../../../src/storage/engine/engine.js'
import { MemoryEngine } from '../../../src/storage/engine/memory-engine.js'
import {
  openStore,
  put,
  stopAll,
  stopLater,
  TestFollower,
  TestPrimary,
  TestSet,
} from '../../support/replication-fixture.js'
import { until } from '../../support/until.js'

afterEach(stopAll)

/** Returns an engine whose disk fails permanently after this number of batches, as if the process died. */
const dyingAfter = (engine: Engine, batches: number): Engine & { readonly isDead: boolean } => {
  let left = batches
  return {
    name: engine.name,
    get: (key, snapshot) => engine.get(key, snapshot),
    has: (key, snapshot) => engine.has(key, snapshot),
    scan: (range, options) => engine.scan(range, options),
    snapshot: () => engine.snapshot(),
    acknowledged: engine.acknowledged,
    acknowledge: (next) => engine.acknowledge(next),
    settleAcknowledged: () => engine.settleAcknowledged(),
    findDamage: () => engine.findDamage(),
    sizeBytes: () => engine.sizeBytes(),
    reopen: () => engine.reopen(),
    close: () => engine.close(),
    get isDead() {
      return left < 0
    },
    batch: () => {
      const batch = engine.batch()
      const write = batch.write.bind(batch)
      batch.write = async (options) => {
        if (--left >= 0) return write(options)
        throw new Error('the disk is gone')
      }
      return batch
    },
  }
}

describe('a follower that dies', () => {
  test('a follower that dies during a sync compares again and becomes equal', async () => {
    const set = await TestSet.create()
    const a = await openStore()
    for (let i = 0; i < 400; i++) await put(a, `logical/x/${i}`, Buffer.alloc(32_000, i))
    const primary = stopLater(await TestPrimary.start({ kind: 'dr', store: a, set }))
    const disk = new MemoryEngine()
    const dying = dyingAfter(disk, 3)
    const first = await TestFollower.start({ kind: 'dr', store: await openStore(dying), set, id: 's', primary })
    await until(() => dying.isDead)
    await first.follower.stop()
    const reopened = await openStore(disk)
    expect(reopened.isResyncing).toBe(true)
    expect(reopened.remotePosition).toBeUndefined()
    expect(reopened.get('logical/x/0')).toBeDefined()
    const second = await TestFollower.start({ kind: 'dr', store: reopened, set, id: 's', primary })
    stopLater(second.follower)
    await second.caughtUp(a, 'dr')
    expect(second.states).toContain('merkle-diff')
  })

  test('a follower that dies while it applies entries continues from its position without a comparison', async () => {
    const set = await TestSet.create()
    const a = await openStore()
    const primary = stopLater(await TestPrimary.start({ kind: 'dr', store: a, set }))
    const disk = new MemoryEngine()
    const dying = dyingAfter(disk, 20)
    const first = await TestFollower.start({ kind: 'dr', store: await openStore(dying), set, id: 's', primary })
    for (let i = 0; !dying.isDead; i++) {
      const written = put(a, `logical/x/${i % 10}`, `value ${i}`)
      await written
      await until(() => dying.isDead || (first.follower.applied?.index ?? 0) >= a.position.index)
    }
    await first.follower.stop()
    const reopened = await openStore(disk)
    const before = reopened.remotePosition?.index ?? 0
    expect(before).toBeGreaterThan(0)
    expect(before).toBeLessThan(a.position.index)
    const second = await TestFollower.start({ kind: 'dr', store: reopened, set, id: 's', primary })
    stopLater(second.follower)
    await second.caughtUp(a, 'dr')
    expect(second.states).toEqual(['stream-wals'])
  })
})
