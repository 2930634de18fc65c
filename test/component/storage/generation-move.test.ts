import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { silentLog } from '../../../src/base/log.js'
import { createSeededRandom } from '../../../src/base/random.js'
import { nextTurn } from '../../../src/base/turn.js'
import { FilteredDataPurge } from '../../../src/replication/filter/purge.js'
import { KEYS } from '../../../src/storage/keys/key-families.js'
import { GenerationMove } from '../../../src/storage/generations/generation-move.js'
import { Barrier } from '../../../src/storage/barrier/barrier.js'
import type { EngineSource } from '../../../src/storage/engine/engine-source.js'
import { openMemoryGenerations } from '../../../src/storage/engine/memory-generations.js'
import { dataKey } from '../../../src/storage/keys/raw-keys.js'
import type { Store } from '../../../src/storage/store/store.js'
import { type DiskStep, watchSource } from '../../../src/storage/engine/watched-source.js'
import { openStore, put } from '../../support/replication-fixture.js'
import { until } from '../../support/until.js'

/** Called before every step on the disk; a test puts in what is to happen there. */
let onStep: (step: DiskStep) => void
let data: EngineSource
let store: Store
let destruction: GenerationMove

beforeEach(async () => {
  onStep = () => undefined
  data = watchSource(openMemoryGenerations(), {
    beforeRead: () => undefined,
    beforeStep: (step) => onStep(step),
  })
  store = await openStore(data.engine)
  for (let i = 0; i < 3000; i++) void put(store, `logical/m/${i}`, 'value')
  await put(store, KEYS.purgeMark, 'one')
  destruction = new GenerationMove({
    source: data,
    store,
    clock: systemClock,
    random: createSeededRandom('destruction'),
    log: silentLog,
  })
})

afterEach(async () => {
  await destruction.stop()
  await store.close()
})

const MARK = dataKey(KEYS.purgeMark)

const isMarked = () => store.get(KEYS.purgeMark) !== undefined

/** Does something once, before the n-th batch that is written from the beginning of a new generation on. */
const amidCopy = (work: () => void, at = 3): void => {
  let batches = Number.NEGATIVE_INFINITY
  onStep = (step) => {
    if (step === 'new generation') batches = 0
    if (step === 'batch' && ++batches === at) work()
  }
}

test('what is left moves to a new generation, without the mark, while the store is written to', async () => {
  amidCopy(() => void put(store, 'logical/m/1', 'newer'))
  destruction.schedule()
  expect(destruction.isRunning).toBe(true)
  await until(() => !destruction.isRunning)
  expect([data.generation, isMarked()]).toEqual([2, false])
  expect([store.get('logical/m/1')?.toString(), store.get('logical/m/2999')?.toString()]).toEqual(['newer', 'value'])
  await put(store, 'logical/m/behind', 'value')
  expect(data.engine.get('dlogical/m/behind')).toBeDefined()
})

test('without a mark nothing happens', async () => {
  await store.write((tx) => tx.delete(KEYS.purgeMark))
  destruction.schedule()
  await until(() => !destruction.isRunning)
  expect(data.generation).toBe(1)
})

test('a mark that is written anew ends the copy, and the next one is asked for', async () => {
  amidCopy(() => void put(store, KEYS.purgeMark, 'two'))
  destruction.schedule()
  await until(() => !destruction.isRunning)
  expect([data.generation, store.get(KEYS.purgeMark)?.toString()]).toEqual([1, 'two'])
  onStep = () => undefined
  destruction.schedule()
  await until(() => !destruction.isRunning)
  expect([data.generation, isMarked()]).toEqual([2, false])
})

test('what is asked for while a copy that is overtaken runs is done after it', async () => {
  amidCopy(() => void put(store, KEYS.purgeMark, 'two').then(() => destruction.schedule()))
  destruction.schedule()
  await until(() => !destruction.isRunning)
  expect([data.generation, isMarked()]).toEqual([2, false])
})

test('what is marked anew is not copied before that is asked for', async () => {
  amidCopy(() => {
    destruction.schedule()
    void put(store, KEYS.purgeMark, 'two')
  })
  destruction.schedule()
  await until(() => !destruction.isRunning)
  expect([data.generation, store.get(KEYS.purgeMark)?.toString()]).toEqual([1, 'two'])
})

test('nor after a failure', async () => {
  let failures = 0
  amidCopy(() => {
    onStep = () => undefined
    void put(store, KEYS.purgeMark, 'two')
    failures++
    throw new Error('no space left on device')
  })
  destruction.schedule()
  await until(() => !destruction.isRunning)
  expect([data.generation, store.get(KEYS.purgeMark)?.toString(), failures]).toEqual([1, 'two', 1])
})

test('what is asked for at the very end of a run is done', async () => {
  const mark = Buffer.from('one')
  await store.write((tx) => tx.delete(KEYS.purgeMark))
  for (let turns = 0; turns < 12; turns++) {
    const { generation } = data
    destruction.schedule()
    for (let i = 0; i < turns; i++) await undefined
    const batch = data.engine.batch()
    batch.put(MARK, mark)
    void batch.write({ isDurable: true })
    destruction.schedule()
    await until(() => !destruction.isRunning)
    expect([turns, isMarked(), data.generation]).toEqual([turns, false, generation + 1])
  }
})

test('nothing takes over amid a resync', async () => {
  await store.importMutations([{ key: 'logical/m/half', value: Buffer.from('1') }])
  let batches = 0
  onStep = () => batches++
  destruction.schedule()
  await until(() => batches > 3)
  for (let i = 0; i < 50; i++) await nextTurn()
  expect([data.generation, store.isResyncing]).toEqual([1, true])
  await store.importMutations([], { ...store.position, epoch: '' })
  await until(() => !destruction.isRunning)
  expect([data.generation, isMarked(), store.get('logical/m/half')?.toString()]).toEqual([2, false, '1'])
})

test('a stop abandons the copy, and the mark stays for the next start', async () => {
  let stopped: Promise<void> | undefined
  amidCopy(() => {
    stopped = destruction.stop()
  })
  destruction.schedule()
  await until(() => stopped !== undefined)
  await stopped
  expect([data.generation, isMarked(), destruction.isRunning]).toEqual([1, true, false])
  await put(store, 'logical/m/1', 'newer')
  destruction.schedule()
  expect(destruction.isRunning).toBe(false)
})

test.each(['new generation', 'batch', 'move pointer', 'destroy generation'] as const)(
  'a failure at the step "%s" is tried again',
  async (failing) => {
    let isBegun = false
    let failures = 0
    onStep = (step) => {
      isBegun ||= step === 'new generation'
      if (!isBegun || step !== failing || failures > 0) return
      failures++
      throw new Error('no space left on device')
    }
    destruction.schedule()
    await until(() => !destruction.isRunning)
    expect([data.generation, isMarked(), failures]).toEqual([2, false, 1])
    expect(store.get('logical/m/7')?.toString()).toBe('value')
  },
)

/** A filter takes `us` away while a copy is made because of another: its data must not survive in the new generation. */
test('the data of a second filter, applied amid the copy for the first, is in no file in the end', async () => {
  const random = createSeededRandom('purge')
  const barrier = new Barrier({ store, clock: systemClock, random })
  const rootKey = random.bytes(32)
  await barrier.initialize(rootKey)
  barrier.unseal(rootKey)
  const storage = barrier.view('')
  const filtered = new Set(['eu'])
  const purge = new FilteredDataPurge({
    storage,
    store: {
      isResyncing: false,
      remotePosition: { ...store.position, epoch: '' },
      firstIndex: store.firstIndex,
      framesAfter: async () => [],
      cutLog: () => store.cutLog(),
    },
    filteredMounts: () => filtered,
    destroy: () => destruction.schedule(),
    random,
    log: silentLog,
  })
  const put = (key: string) => storage.write((tx) => tx.put(key, Buffer.from('secret')))
  await put('logical/us/1')
  await purge.mark()
  const generations: number[] = []
  let second: Promise<void> | undefined
  amidCopy(() => {
    onStep = () => undefined
    second = (async () => {
      filtered.add('us')
      await purge.mark()
      await storage.write((tx) => tx.delete('logical/us/1'))
      generations.push(data.generation)
      purge.check()
    })()
  }, 5)
  await purge.start()
  await until(() => second !== undefined && !destruction.isRunning && purge.isSettled)
  await second
  await until(() => !destruction.isRunning)
  expect([generations, data.generation, purge.isSettled]).toEqual([[1], 2, true])
  await purge.stop()
})
