import { beforeEach, expect, test } from 'vitest'
import { silentLog } from '../../../src/base/log.js'
import { createSeededRandom } from '../../../src/base/random.js'
import { FilteredDataPurge } from '../../../src/replication/filter/purge.js'
import { readPurgeStage } from '../../../src/replication/filter/purge-mark.js'
import { KEYS } from '../../../src/storage/keys/key-families.js'
import { MemoryStorage } from '../../support/memory-storage.js'
import { until } from '../../support/until.js'

/** When filtered data is marked, and when the files that contained it are destroyed. */
let storage: MemoryStorage
let filtered: Set<string>
let isResyncing: boolean
let hasPosition: boolean
let asked: number
let purge: FilteredDataPurge

const make = (): FilteredDataPurge =>
  new FilteredDataPurge({
    storage,
    store: {
      get isResyncing() {
        return isResyncing
      },
      get remotePosition() {
        return hasPosition ? { index: 1, hash: Buffer.alloc(20), epoch: '' } : undefined
      },
      firstIndex: 1,
      framesAfter: async () => [],
      cutLog: () => Promise.reject(new Error('nothing is in the log')),
    },
    filteredMounts: () => filtered,
    destroy: () => asked++,
    random: createSeededRandom('purge'),
    log: silentLog,
  })

const put = (key: string) => storage.write((tx) => tx.put(key, Buffer.from('x')))
const remove = (key: string) => storage.write((tx) => tx.delete(key))
const stage = () => readPurgeStage(storage)

beforeEach(() => {
  storage = new MemoryStorage()
  filtered = new Set()
  isResyncing = false
  hasPosition = true
  asked = 0
  purge = make()
})

test('a filter without local data sets no mark', async () => {
  filtered = new Set(['eu'])
  await put('logical/us/1')
  await purge.start()
  expect([stage(), asked, purge.isSettled, purge.isInEffect]).toEqual([undefined, 0, true, true])
})

test('filtered data is marked when it is hidden and before it is deleted, and destroyed afterwards', async () => {
  await put('logical/eu/1')
  filtered = new Set(['eu'])
  purge.check()
  expect(purge.isSettled).toBe(false)
  await until(() => stage() === 'hidden')
  expect([asked, purge.isInEffect]).toEqual([0, false])
  await purge.mark()
  expect(stage()).toBe('deleted')
  await remove('logical/eu/1')
  await purge.start()
  expect([asked, purge.isInEffect, purge.isSettled]).toEqual([1, true, false])
  await remove(KEYS.purgeMark)
  expect([purge.isInEffect, purge.isSettled]).toEqual([true, true])
})

test('removing a filter before any deletion removes its mark', async () => {
  await put('logical/eu/1')
  filtered = new Set(['eu'])
  await purge.start()
  filtered = new Set()
  await purge.start()
  expect([stage(), asked]).toEqual([undefined, 0])
})

test('deleted data is destroyed even after the filter or the role is gone', async () => {
  await put('logical/eu/1')
  filtered = new Set(['eu'])
  await purge.mark()
  await purge.stop()
  filtered = new Set()
  hasPosition = false
  await make().start()
  expect([stage(), asked]).toEqual(['deleted', 1])
})

test('data is never destroyed during a resync, or before the first one is complete', async () => {
  filtered = new Set(['eu'])
  await purge.mark()
  isResyncing = true
  await purge.start()
  isResyncing = false
  hasPosition = false
  await purge.start()
  expect([asked, purge.isInEffect]).toEqual([0, false])
  hasPosition = true
  await purge.start()
  expect(asked).toBe(1)
})

test('the deletion of the last filtered key over the stream starts the destruction', async () => {
  await put('logical/eu/1')
  filtered = new Set(['eu'])
  await purge.start()
  await remove('logical/eu/1')
  purge.checkPending()
  await until(() => asked === 1)
})

test('applied entries have no effect without a mark', async () => {
  await purge.start()
  purge.checkPending()
  expect(purge.isSettled).toBe(true)
})

test('data deleted after the destruction request gets a new mark', async () => {
  filtered = new Set(['eu'])
  await purge.mark()
  const writes = storage.writes
  await purge.mark()
  expect(storage.writes).toBe(writes)
  await purge.start()
  await purge.mark()
  expect([storage.writes, purge.isInEffect]).toEqual([writes + 1, false])
  await purge.mark()
  expect(storage.writes).toBe(writes + 1)
})

test('a rewritten mark differs from the previous one with the same meaning', async () => {
  filtered = new Set(['eu'])
  await purge.mark()
  const before = storage.get(KEYS.purgeMark)
  await purge.start()
  await purge.mark()
  expect([stage(), storage.get(KEYS.purgeMark)?.equals(before ?? Buffer.alloc(0))]).toEqual(['deleted', false])
})

test('a second filter during a destruction sets a new mark with its own stage', async () => {
  filtered = new Set(['eu'])
  await purge.mark()
  await purge.start()
  const before = storage.get(KEYS.purgeMark)
  await put('logical/us/1')
  filtered = new Set(['eu', 'us'])
  await purge.start()
  expect([stage(), storage.get(KEYS.purgeMark)?.equals(before ?? Buffer.alloc(0))]).toEqual(['deleted', false])
  expect([asked, purge.isInEffect]).toEqual([1, false])
  const { writes } = storage
  await purge.start()
  expect(storage.writes).toBe(writes)
})

test('a mark that failed to be written is written later', async () => {
  filtered = new Set(['eu'])
  await purge.mark()
  await purge.start()
  const { writes } = storage
  storage.writeError = new Error('no space left on device')
  await expect(purge.mark()).rejects.toThrow('no space')
  storage.writeError = undefined
  await purge.mark()
  expect(storage.writes).toBe(writes + 1)
})
