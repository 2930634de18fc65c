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

/** Called before every disk operation. Tests replace it to inject events. */
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

/** Runs `work` once, before batch number `at` after the start of a new generation. */
const duringCopy = (work: () => void, at = 3): void => {
  let batches = Number.NEGATIVE_INFINITY
  onStep = (step) => {
    if (step === 'new generation') batches = 0
    if (step === 'batch' && ++batches === at) work()
  }
}

test('a generation move copies the live data without the mark while the store accepts writes', async () => {
  duringCopy(() => void put(store, 'logical/m/1', 'newer'))
  destruction.schedule()
  expect(destruction.isRunning).toBe(true)
  await until(() => !destruction.isRunning)
  expect([data.generation, isMarked()]).toEqual([2, false])
  expect([store.get('logical/m/1')?.toString(), store.get('logical/m/2999')?.toString()]).toEqual(['newer', 'value'])
  await put(store, 'logical/m/behind', 'value')
  expect(data.engine.get('dlogical/m/behind')).toBeDefined()
})

test('a generation move without a mark does nothing', async () => {
  await store.write((tx) => tx.delete(KEYS.purgeMark))
  destruction.schedule()
  await until(() => !destruction.isRunning)
  expect(data.generation).toBe(1)
})

test('a mark that is written again ends the move, and the next move is scheduled separately', async () => {
  duringCopy(() => void put(store, KEYS.purgeMark, 'two'))
  destruction.schedule()
  await until(() => !destruction.isRunning)
  expect([data.generation, store.get(KEYS.purgeMark)?.toString()]).toEqual([1, 'two'])
  onStep = () => undefined
  destruction.schedule()
  await until(() => !destruction.isRunning)
  expect([data.generation, isMarked()]).toEqual([2, false])
})

test('a move that is scheduled during an outdated move runs after it', async () => {
  duringCopy(() => void put(store, KEYS.purgeMark, 'two').then(() => destruction.schedule()))
  destruction.schedule()
  await until(() => !destruction.isRunning)
  expect([data.generation, isMarked()]).toEqual([2, false])
})

test('a mark that is written again after the schedule is not handled by the running move', async () => {
  duringCopy(() => {
    destruction.schedule()
    void put(store, KEYS.purgeMark, 'two')
  })
  destruction.schedule()
  await until(() => !destruction.isRunning)
  expect([data.generation, store.get(KEYS.purgeMark)?.toString()]).toEqual([1, 'two'])
})

test('a failed move does not handle a mark that is written again', async () => {
  let failures = 0
  duringCopy(() => {
    onStep = () => undefined
    void put(store, KEYS.purgeMark, 'two')
    failures++
    throw new Error('no space left on device')
  })
  destruction.schedule()
  await until(() => !destruction.isRunning)
  expect([data.generation, store.get(KEYS.purgeMark)?.toString(), failures]).toEqual([1, 'two', 1])
})

test('a move that is scheduled at the end of a run is executed', async () => {
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

test('a generation move does not take over during a resync', async () => {
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

test('a stop abandons the move, and the mark stays for the next start', async () => {
  let stopped: Promise<void> | undefined
  duringCopy(() => {
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
  'a generation move is retried after a failure at the step "%s"',
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

/** A second filter withholds `us` during the move for the first filter. Its data must not be in the new generation. */
test('the data of a second filter that applies during the move for the first one is destroyed', async () => {
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
  duringCopy(() => {
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
