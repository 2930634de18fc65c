import { expect, test } from 'vitest'
import { type EpochChain, forkBehind } from '../../../src/replication/roles/epoch.js'
import { RecentFrames } from '../../../src/replication/secondary/recent-frames.js'
import type { Frame } from '../../../src/storage/replicable.js'

const frame = (firstIndex: number, lastIndex: number, length = 10): Frame => ({
  firstIndex,
  lastIndex,
  previousHash: Buffer.alloc(0),
  hash: Buffer.alloc(0),
  timeMs: 0,
  bytes: Buffer.alloc(length),
  body: Buffer.alloc(0),
  hasReplicated: true,
  hasLocal: false,
})

const indexesAfter = (recent: RecentFrames, index: number) =>
  recent.after(index).frames.map(({ firstIndex }) => firstIndex)

test('what was applied is remembered over a reconnection, and forgotten at another place', () => {
  const recent = new RecentFrames()
  recent.begin({ index: 4, epoch: 'one' })
  recent.add([frame(5, 6), frame(8, 8)], 9)
  recent.begin({ index: 9, epoch: 'one' })
  recent.add([frame(10, 10)], 10)
  expect(indexesAfter(recent, 4)).toEqual([5, 8, 10])
  expect(indexesAfter(recent, 6)).toEqual([8, 10])
  expect(recent.after(4).isComplete).toBe(true)
  expect(recent.after(3).isComplete).toBe(false)
  recent.begin({ index: 30, epoch: 'one' })
  expect(indexesAfter(recent, 0)).toEqual([])
  expect(recent.after(10).isComplete).toBe(false)
  expect(recent.after(30).isComplete).toBe(true)
})

test('what was remembered of one log is not taken for that of another with the same numbers', () => {
  const recent = new RecentFrames()
  recent.begin({ index: 4, epoch: 'one' })
  recent.add([frame(5, 8)], 8)
  recent.begin({ index: 8, epoch: 'two' })
  expect(indexesAfter(recent, 0)).toEqual([])
  recent.add([frame(9, 9)], 9)
  recent.enter('three')
  recent.begin({ index: 9, epoch: 'three' })
  expect(indexesAfter(recent, 0)).toEqual([9])
})

test('what is remembered is bounded, and says so', () => {
  const recent = new RecentFrames(25)
  recent.begin({ index: 0, epoch: 'one' })
  recent.add([frame(1, 1), frame(2, 2), frame(3, 4)], 4)
  expect(indexesAfter(recent, 0)).toEqual([2, 3])
  expect(recent.after(0).isComplete).toBe(false)
  expect(recent.after(1).isComplete).toBe(true)
})

test('a chain forks behind a follower that is beyond the point it builds on', () => {
  const chain: EpochChain = [
    { id: 'one', number: 1, parent: '', forkIndex: 0 },
    { id: 'two', number: 2, parent: 'one', forkIndex: 20 },
  ]
  expect(forkBehind({ index: 25, epoch: 'one' }, chain)).toBe(20)
  expect(forkBehind({ index: 20, epoch: 'one' }, chain)).toBeUndefined()
  expect(forkBehind({ index: 25, epoch: 'two' }, chain)).toBeUndefined()
  expect(forkBehind({ index: 25, epoch: '' }, chain)).toBeUndefined()
})
