import { expect, test } from 'vitest'
import { RecentFrames } from '../../../src/replication/model/recent-frames.js'
import type { Frame } from '../../../src/storage/keys/replicable.js'

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

const received = (...frames: Frame[]) => frames.map((one) => ({ frame: one, hash: hashOf(one.lastIndex) }))
const hashOf = (index: number) => Buffer.from(`hash ${index}`)
const at = (index: number) => ({ index, hash: hashOf(index) })

const indexesAfter = (recent: RecentFrames, index: number) =>
  recent.after(index).frames.map(({ firstIndex }) => firstIndex)

test('recent frames survive a reconnection, and are dropped at another position', () => {
  const recent = new RecentFrames()
  recent.begin(at(4))
  recent.add(received(frame(5, 6), frame(8, 8)), at(9))
  recent.begin(at(9))
  recent.add(received(frame(10, 10)), at(10))
  expect(indexesAfter(recent, 4)).toEqual([5, 8, 10])
  expect(indexesAfter(recent, 6)).toEqual([8, 10])
  expect(recent.after(4).isComplete).toBe(true)
  expect(recent.after(3).isComplete).toBe(false)
  recent.begin(at(30))
  expect(indexesAfter(recent, 0)).toEqual([])
  expect(recent.after(10).isComplete).toBe(false)
  expect(recent.after(30).isComplete).toBe(true)
})

test('recent frames are limited, and report missing ones', () => {
  const recent = new RecentFrames(25)
  recent.begin(at(0))
  recent.add(received(frame(1, 1), frame(2, 2), frame(3, 4)), at(4))
  expect(indexesAfter(recent, 0)).toEqual([2, 3])
  expect(recent.after(0).isComplete).toBe(false)
  expect(recent.after(1).isComplete).toBe(true)
})

test('the same index in another log is another position', () => {
  const recent = new RecentFrames()
  recent.begin(at(4))
  recent.add(received(frame(5, 6)), at(6))
  recent.begin({ index: 6, hash: Buffer.from('of another log') })
  expect(indexesAfter(recent, 0)).toEqual([])
})

test('passed positions are returned, newest first', () => {
  const recent = new RecentFrames(25)
  expect(recent.positions()).toEqual([])
  recent.begin(at(1))
  recent.add(received(frame(2, 3), frame(4, 4), frame(5, 6)), at(9))
  expect(recent.positions()).toEqual([at(6), at(4), at(3)])
})
