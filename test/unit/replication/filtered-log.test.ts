import { expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { silentLog } from '../../../src/base/log.js'
import { createSeededRandom } from '../../../src/base/random.js'
import { FilteredDataPurge } from '../../../src/replication/filter/purge.js'
import { Barrier } from '../../../src/storage/barrier/barrier.js'
import { openMemoryGenerations } from '../../../src/storage/engine/memory-generations.js'
import { GenerationMove } from '../../../src/storage/generations/generation-move.js'
import { verifyStored } from '../../../src/storage/inspection/inspect.js'
import { openStore, put } from '../../support/replication-fixture.js'
import { until } from '../../support/until.js'

/** Data that a client deleted before the filter was set is in no tree, but still in the log. */

const REMOTE = { index: 7, hash: Buffer.alloc(20, 7), epoch: 'one' }

const open = async () => {
  const source = openMemoryGenerations()
  const store = await openStore(source.engine)
  const random = createSeededRandom('log')
  const barrier = new Barrier({ store, clock: systemClock, random })
  const rootKey = random.bytes(32)
  await barrier.initialize(rootKey)
  barrier.unseal(rootKey)
  await store.importMutations([{ key: 'logical/eu/1', value: Buffer.from('it') }], REMOTE)
  const destruction = new GenerationMove({ source, store, clock: systemClock, random, log: silentLog })
  const filtered = new Set<string>()
  const purge = new FilteredDataPurge({
    storage: barrier.view(''),
    store,
    filteredMounts: () => filtered,
    destroy: () => destruction.schedule(),
    random,
    log: silentLog,
  })
  const stored = async () => {
    const found: string[] = []
    for await (const chunk of source.engine.scan({}))
      for (const { key, value } of chunk) if (`${key} ${value}`.includes('logical/us/')) found.push(key)
    return found
  }
  const end = async () => {
    await purge.stop()
    await destruction.stop()
    await store.close()
  }
  const settled = () => until(() => purge.isSettled && !destruction.isRunning)
  return { source, store, filtered, purge, stored, settled, end }
}

test('a filter removes earlier deletions from the log and the files', async () => {
  const { source, store, filtered, purge, stored, settled, end } = await open()
  await put(store, 'logical/us/1', 'secret')
  await store.write((tx) => tx.delete('logical/us/1'))
  expect(await stored()).not.toEqual([])
  const root = store.trees.replicated.root()
  filtered.add('us')
  await purge.start()
  await settled()
  expect([await stored(), source.generation]).toEqual([[], 2])
  expect(store.trees.replicated.root()).toEqual(root)
  expect(store.remotePosition).toEqual(REMOTE)
  expect((await verifyStored(source.engine)).isSound).toBe(true)
  await put(store, 'logical/eu/2', 'more')
  await end()
  const again = await openStore(source.engine)
  expect([again.trees.replicated.root(), again.remotePosition]).toEqual([store.trees.replicated.root(), REMOTE])
  await again.close()
})

test('a filter without local data keeps the log', async () => {
  const { source, store, filtered, purge, settled, end } = await open()
  await put(store, 'logical/eu/2', 'more')
  const [first, last] = [store.firstIndex, store.position]
  filtered.add('us')
  await purge.start()
  await settled()
  expect([store.firstIndex, store.position, source.generation]).toEqual([first, last, 1])
  await end()
})
