import { expect, test } from 'vitest'
import { silentLog } from '../../../src/base/log.js'
import { type EpochChain, selectApplied } from '../../../src/replication/model/epoch.js'
import { keepOwnLoss, keepSurplusLoss, LOSS_REASONS } from '../../../src/replication/roles/keep-losses.js'
import { readLosses } from '../../../src/replication/roles/losses.js'
import { settleLosses } from '../../../src/replication/roles/settle-losses.js'
import type { Store } from '../../../src/storage/store/store.js'
import { ManualClock } from '../../support/manual-clock.js'
import { MemoryStorage } from '../../support/memory-storage.js'
import { openStore } from '../../support/open-store.js'

const key = (name: string) => `logical/m1/${name}`
const put = (store: Store, name: string, value: string) => store.write((tx) => tx.put(key(name), Buffer.from(value)))
const remove = (store: Store, name: string) => store.write((tx) => tx.delete(key(name)))

const OWN: EpochChain = [{ id: 'e1', number: 1, parent: '', forkIndex: 0 }]

/** Opens a former primary with two values, of which its successor has both. */
const open = async () => {
  const store = await openStore()
  const storage = new MemoryStorage()
  const host = { store, storage, mounts: () => [], clock: new ManualClock(), log: silentLog }
  await put(store, 'old', 'v0')
  await put(store, 'gone', 'v0')
  const forkIndex = store.position.index
  /** Records the entries after the fork. */
  const keep = () => keepOwnLoss(host, 'performance', OWN, [...OWN, { id: 'e2', number: 2, parent: 'e1', forkIndex }])
  /** Returns `operation name` of each listed entry, by list. */
  const listed = async () =>
    (await readLosses(storage)).map(({ loss }) =>
      loss.entries.map(({ path, operation }) => `${operation} ${path.slice(key('').length)}`),
    )
  return { store, storage, host, forkIndex, keep, listed, settle: () => settleLosses(host, 'performance') }
}

test('a list of losses keeps only the entries whose effect the data no longer has', async () => {
  const { store, keep, listed, settle } = await open()
  await put(store, 'shared', 'v1')
  await put(store, 'lost', 'v1')
  await put(store, 'twice', 'v1')
  await put(store, 'twice', 'v2')
  await put(store, 'brief', 'v1')
  await remove(store, 'brief')
  await put(store, 'old', 'v1')
  await remove(store, 'gone')
  await keep()
  expect((await listed())[0]).toHaveLength(8)
  // The comparison with a successor that has `shared`, and only the first value of `twice`.
  await remove(store, 'lost')
  await put(store, 'twice', 'v1')
  await put(store, 'old', 'v0')
  await put(store, 'gone', 'v0')
  await settle()
  expect(await listed()).toEqual([['put lost', 'put twice', 'put old', 'delete gone']])
  await remove(store, 'shared')
  await settle()
  expect(await listed(), 'a settled list never changes').toEqual([['put lost', 'put twice', 'put old', 'delete gone']])
})

test('a former primary whose disk was put back in time lists the writes that replaced replicated ones', async () => {
  const { store, storage, host, settle, listed } = await open()
  const before = await openStore()
  const positions = []
  await put(before, 'old', 'v0')
  await put(before, 'gone', 'v0')
  for (let n = 1; n <= 20; n++) {
    await put(before, `replicated-${n}`, 'v1')
    positions.unshift(before.position)
  }
  // The same log up to its second replicated entry, then other entries. It is shorter than the log at the fork.
  await put(store, 'replicated-1', 'v1')
  await put(store, 'replicated-2', 'v1')
  for (let n = 1; n <= 10; n++) await put(store, `replaced-${n}`, 'v1')
  const forkIndex = before.position.index
  expect(store.position.index).toBeLessThan(forkIndex)
  const child = { id: 'e2', number: 2, parent: 'e1', forkIndex, applied: selectApplied(positions) }
  await keepOwnLoss(host, 'performance', OWN, [...OWN, child])
  // The comparison with the successor.
  for (let n = 1; n <= 10; n++) await remove(store, `replaced-${n}`)
  for (let n = 3; n <= 20; n++) await put(store, `replicated-${n}`, 'v1')
  await settle()
  expect(await listed()).toEqual([Array.from({ length: 10 }, (_, n) => `put replaced-${n + 1}`)])
  expect((await readLosses(storage))[0]?.loss.reason).toBe(LOSS_REASONS.failover)
})

test('a list of losses is removed if the comparison changes nothing, even if the list is not complete', async () => {
  const { store, keep, listed, settle, storage } = await open()
  await put(store, 'late', 'v1')
  await store.cutLog()
  await keep()
  expect(await readLosses(storage)).toMatchObject([{ loss: { reason: expect.stringContaining('not complete') } }])
  await settle()
  expect(await listed()).toEqual([])
})

test('an incomplete list of losses stays if the comparison changes the data', async () => {
  const { store, keep, settle, storage } = await open()
  await put(store, 'late', 'v1')
  await store.cutLog()
  await keep()
  await remove(store, 'late')
  await settle()
  expect(await readLosses(storage)).toMatchObject([
    { loss: { entries: [], reason: expect.stringContaining('not complete') } },
  ])
})

test('a held list is not replaced by an incomplete one, and is lost with the next primary that lacks its entries', async () => {
  const { store, host, forkIndex, listed, settle, storage } = await open()
  await put(store, 'x', 'v1')
  const frames = (await store.framesAfter(forkIndex, 1 << 20)) ?? []
  const surplus = {
    epoch: 'e1',
    forkIndex,
    lastIndex: store.position.index,
    isForkSure: true,
    frames,
    isComplete: true,
  }
  await keepSurplusLoss(host, 'performance', surplus, LOSS_REASONS.rewound)
  expect(await readLosses(storage)).toMatchObject([{ loss: { open: { isHeld: true, isPartial: false } } }])
  const afterRestart = { ...surplus, frames: [], isComplete: false }
  await keepSurplusLoss(host, 'performance', afterRestart, LOSS_REASONS.overtaken)
  expect(await readLosses(storage)).toMatchObject([
    { loss: { reason: LOSS_REASONS.overtaken, open: { isHeld: false, isPartial: false } } },
  ])
  await remove(store, 'x')
  await settle()
  expect(await listed()).toEqual([['put x']])
})
