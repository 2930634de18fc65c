import { describe, expect, test } from 'vitest'
import { addSlice, sliceOf } from '../../../src/replication/primary/filter-frame.js'
import type { FrameSliceMessage } from '../../../src/replication/rpc/messages.js'
import type { KeyFilter } from '../../../src/replication/model/types.js'
import type { Frame } from '../../../src/storage/keys/replicable.js'
import { decodeFrame, parseFrame } from '../../../src/storage/log/frame.js'
import type { Store } from '../../../src/storage/store/store.js'
import { openStore } from '../../support/replication-fixture.js'

const lastFrame = async (store: Store): Promise<Frame> => {
  const frames = await store.framesAfter(store.firstIndex - 1, 1 << 20)
  const last = frames?.[frames.length - 1]
  if (!last) throw new Error('nothing was written')
  return last
}

const written = async (...keys: string[]): Promise<{ frame: Frame }> => {
  const store = await openStore()
  await store.write((tx) => {
    for (const key of keys) tx.put(key, Buffer.from(`VALUE of ${key}`))
  })
  return { frame: await lastFrame(store) }
}

const keysIn = async (slice: FrameSliceMessage): Promise<string[]> => {
  const frame = await parseFrame(slice.frame)
  return frame ? decodeFrame(frame).flatMap((entry) => entry.operations.map((operation) => operation.key)) : []
}

const everything = { filter: undefined }
const deny: KeyFilter = {
  fingerprint: 'deny',
  rule: { mode: 'deny', paths: ['secret/'] },
  shows: (key) => !key.startsWith('logical/secret/'),
}

describe('a frame on its way to a secondary', () => {
  test('a frame is sent unchanged to a copy, and to a performance secondary if nothing in it is local', async () => {
    const mixed = await written('logical/a', 'sys/token/id/1')
    expect(sliceOf(mixed.frame, { kind: 'dr', ...everything }).frame).toBe(mixed.frame.bytes)
    const shared = await written('logical/a', 'sys/policy/root/p')
    expect(sliceOf(shared.frame, { kind: 'performance', ...everything }).frame).toBe(shared.frame.bytes)
  })

  test('a frame loses its local keys on the way to a performance secondary', async () => {
    const { frame } = await written('logical/a', 'sys/token/id/1')
    const slice = sliceOf(frame, { kind: 'performance', ...everything })
    expect(await keysIn(slice)).toEqual(['logical/a'])
    expect(slice.frame.includes('sys/token')).toBe(false)
    expect(slice.hash).toEqual(frame.hash)
    expect((await parseFrame(slice.frame))?.previousHash).toEqual(frame.previousHash)
  })

  test('a frame of local keys only becomes an empty slice with its index', async () => {
    const { frame } = await written('sys/token/id/1', 'cubbyhole/1/x')
    const slice = sliceOf(frame, { kind: 'performance', ...everything })
    expect(slice).toMatchObject({ first_index: 1, last_index: 1 })
    expect(slice.frame).toHaveLength(0)
  })

  test('a frame carries no name or value of a filtered key, only its sub-page change', async () => {
    const { frame } = await written('logical/open/a', 'logical/secret/b')
    const slice = sliceOf(frame, { kind: 'performance', filter: deny })
    expect(slice.frame.includes('logical/secret')).toBe(false)
    expect(slice.frame.includes('VALUE of logical/secret')).toBe(false)
    const parsed = await parseFrame(slice.frame)
    const operations = parsed ? decodeFrame(parsed).flatMap((entry) => entry.operations) : []
    expect(operations.map(({ key, filtered }) => ({ key, isFiltered: filtered !== undefined }))).toEqual([
      { key: 'logical/open/a', isFiltered: false },
      { key: '', isFiltered: true },
    ])
  })
})

test('adjacent slices without content are merged, and never across a slice with content', () => {
  const nothing = Buffer.alloc(0)
  const stretch = (first_index: number, last_index: number, frame: Buffer = nothing): FrameSliceMessage => ({
    first_index,
    last_index,
    hash: Buffer.from([last_index]),
    frame,
  })
  const slices: FrameSliceMessage[] = []
  for (const slice of [stretch(1, 2), stretch(3, 3), stretch(4, 4, Buffer.from('x')), stretch(5, 5), stretch(6, 9)]) {
    addSlice(slices, slice)
  }
  expect(slices.map(({ first_index, last_index }) => [first_index, last_index])).toEqual([
    [1, 3],
    [4, 4],
    [5, 9],
  ])
  expect(slices[2]?.hash).toEqual(Buffer.from([9]))
})
