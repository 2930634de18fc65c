import { EventEmitter } from 'node:events'
import { describe, expect, test } from 'vitest'
import { createSeededRandom } from '../../../src/base/random.js'
import { LogicalError } from '../../../src/logical/errors.js'
import { MessageStream } from '../../../src/replication/rpc/message-stream.js'
import { Addresses } from '../../../src/replication/secondary/addresses.js'
import { Applier, requirePositionAt } from '../../../src/replication/secondary/applier.js'
import { RecentFrames } from '../../../src/replication/model/recent-frames.js'
import { Backoff } from '../../../src/base/backoff.js'
import type { FrameSliceMessage } from '../../../src/replication/rpc/messages.js'
import type { Store } from '../../../src/storage/store/store.js'
import { openStore, put } from '../../support/replication-fixture.js'

describe('addresses', () => {
  test('known addresses show a scheme, and the one in use is dialed first', () => {
    const addresses = new Addresses(['a:1', 'https://b:2'])
    expect(addresses.known).toEqual(['https://a:1', 'https://b:2'])
    expect(addresses.answered('b:2')).toBe(true)
    expect(addresses.answered('b:2')).toBe(false)
    expect(addresses.dialOrder).toEqual(['https://b:2', 'https://a:1'])
  })

  test('known addresses follow the primary, but an empty or equal list changes nothing', () => {
    const addresses = new Addresses(['a:1'])
    expect(addresses.learn([])).toBe(false)
    expect(addresses.learn(['a:1'])).toBe(false)
    expect(addresses.learn(['c:3', 'd:4'])).toBe(true)
    expect(addresses.known).toEqual(['https://c:3', 'https://d:4'])
    expect(addresses.dialOrder).toEqual(['https://a:1', 'https://c:3', 'https://d:4'])
  })

  test('the next follower remembers addresses that the primary no longer names', () => {
    const before = new Addresses(['a:1'])
    before.learn(['b:2', 'a:1'])
    before.answered('b:2')
    before.learn(['b:2'])
    const { known, former } = before
    const after = new Addresses(known, former)
    expect(after.dialOrder).toEqual(['https://b:2'])
    expect([after.nextFormer(), after.nextFormer()]).toEqual(['https://a:1', 'https://a:1'])
  })

  test('every address that the primary no longer names is dialed in turn', () => {
    const addresses = new Addresses(['a:1', 'b:2'])
    expect(addresses.nextFormer()).toBeUndefined()
    addresses.answered('c:3')
    addresses.learn(['c:3'])
    expect(addresses.dialOrder).toEqual(['https://c:3'])
    expect([addresses.nextFormer(), addresses.nextFormer(), addresses.nextFormer()]).toEqual([
      'https://b:2',
      'https://a:1',
      'https://b:2',
    ])
  })
})

test('the backoff doubles up to its limit, varies by a fifth, and can be reset', () => {
  const backoff = new Backoff({ initialMs: 50, maxMs: 500 }, createSeededRandom('backoff'))
  const bases = [50, 100, 200, 400, 500, 500]
  for (const base of bases) {
    const waited = backoff.next()
    expect(waited).toBeGreaterThanOrEqual(base * 0.8)
    expect(waited).toBeLessThanOrEqual(Math.min(base * 1.2, 500))
  }
  backoff.reset()
  expect(backoff.next()).toBeLessThanOrEqual(60)
})

const piecesOf = async (store: Store): Promise<FrameSliceMessage[]> => {
  const frames = (await store.framesAfter(0, 1 << 30)) ?? []
  return frames.map((frame) => ({
    first_index: frame.firstIndex,
    last_index: frame.lastIndex,
    hash: frame.hash,
    frame: frame.bytes,
  }))
}

const nothing = () => ({ recent: new RecentFrames(), beforeFilterChange: async () => undefined })

const begin = async () => {
  const [a, b] = [await openStore(), await openStore()]
  const start = { index: 0, hash: a.position.hash, epoch: 'e' }
  for (let i = 0; i < 5; i++) await put(a, `logical/x/${i}`, `value ${i}`)
  return { a, b, applier: new Applier(b, start, { epoch: 'e', ...nothing() }), slices: await piecesOf(a) }
}

describe('what is received', () => {
  test('received slices apply in order as one batch, together with their position', async () => {
    const { a, b, applier, slices } = await begin()
    let commits = 0
    b.onCommit(() => commits++)
    expect(await applier.apply(slices)).toEqual({ ok: true })
    expect(commits).toBe(1)
    expect(b.remotePosition).toMatchObject({ index: 5, epoch: 'e' })
    expect(b.trees.replicated.root()).toEqual(a.trees.replicated.root())
  })

  test('an applier stores another epoch only after the new primary confirmed the position', async () => {
    const { b, applier, slices } = await begin()
    await applier.apply(slices)
    const place = b.remotePosition
    if (!place) throw new Error('nothing was applied')
    const next = new Applier(b, place, { epoch: 'next', ...nothing() })
    await next.flush()
    expect(b.remotePosition).toMatchObject({ index: 5, epoch: 'e' })
    next.confirm()
    await next.flush()
    expect(b.remotePosition).toMatchObject({ index: 5, epoch: 'next' })
  })

  test('slices do not apply to a store that was reopened at another position', async () => {
    const { b, applier, slices } = await begin()
    await applier.apply(slices.slice(0, 2))
    const place = b.remotePosition
    if (!place) throw new Error('nothing was applied')
    // As after a failed batch that was stored nonetheless.
    await b.applyEntries([], { ...place, index: 3 })
    const { position } = b
    await expect(applier.apply(slices.slice(2))).rejects.toThrow('the storage was reopened and is now at index 3')
    expect(b.position).toEqual(position)
    expect(b.remotePosition?.index).toBe(3)
    expect(() => requirePositionAt(b, place)).toThrow('is now at index 3')
  })

  test('missing, disordered, repeated or damaged slices are rejected', async () => {
    const damage = (slice: FrameSliceMessage | undefined): FrameSliceMessage => {
      if (!slice) throw new Error('no such slice')
      const frame = Buffer.from(slice.frame)
      frame[frame.length - 1] = (frame[frame.length - 1] ?? 0) ^ 1
      return { ...slice, frame }
    }
    const wrong: readonly ((slices: FrameSliceMessage[]) => FrameSliceMessage[])[] = [
      (slices) => slices.slice(1),
      (slices) => [...slices.slice(0, 2), ...slices.slice(3)],
      (slices) => [...slices].reverse(),
      (slices) => [...slices.slice(0, 1), ...slices],
      (slices) => [damage(slices[0])],
    ]
    for (const change of wrong) {
      const { b, applier, slices } = await begin()
      const applied = await applier.apply(change(slices))
      expect(applied.ok).toBe(false)
      expect(b.remotePosition).toBeUndefined()
    }
  })

  test('slices for other data are rejected and change nothing', async () => {
    const { b, applier, slices } = await begin()
    await put(b, 'logical/x/3', 'own')
    const applied = await applier.apply(slices)
    expect(applied.ok).toBe(false)
    expect(b.get('logical/x/0')).toBeUndefined()
  })

  test('a slice without content moves the position in memory, and a flush stores it', async () => {
    const { b, applier, slices } = await begin()
    await applier.apply(slices)
    await applier.apply([{ first_index: 6, last_index: 40, hash: Buffer.alloc(20, 7), frame: Buffer.alloc(0) }])
    expect(applier.position.index).toBe(40)
    expect(b.remotePosition?.index).toBe(5)
    await applier.flush()
    expect(b.remotePosition).toMatchObject({ index: 40, hash: Buffer.alloc(20, 7) })
  })
})

/** The remote end of a call, controlled by the test. */
class FakeCall extends EventEmitter {
  readonly written: { message: string; done: () => void }[] = []
  isPaused = false
  write(message: string, done: () => void): boolean {
    this.written.push({ message, done })
    return true
  }
  pause(): void {
    this.isPaused = true
  }
  resume(): void {
    this.isPaused = false
  }
}

describe('a stream of messages', () => {
  test('a stream makes its sender wait while too much is unsent', async () => {
    const call = new FakeCall()
    const stream = new MessageStream<string, string>(call, () => undefined)
    await stream.send('small', 10)
    let isSent = false
    const sending = stream.send('large', 3_000_000).then(() => {
      isSent = true
    })
    await Promise.resolve()
    expect(isSent).toBe(false)
    for (const { done } of call.written) done()
    await sending
  })

  test('a stream stops reading while its reader is idle, and then returns all messages at once', async () => {
    const call = new FakeCall()
    const stream = new MessageStream<string, string>(call, () => undefined)
    for (let i = 0; i < 16; i++) call.emit('data', `m${i}`)
    expect(call.isPaused).toBe(true)
    expect(await stream.receive()).toHaveLength(16)
    expect(call.isPaused).toBe(false)
  })

  test('a stream ends once, and all waiters get the first reason', async () => {
    const ends: unknown[] = []
    const stream = new MessageStream<string, string>(new FakeCall(), (error) => ends.push(error))
    const waiting = stream.receive()
    const reason = new LogicalError('unavailable', 'first')
    stream.end(reason)
    stream.end(new LogicalError('unavailable', 'second'))
    stream.markEnded(new LogicalError('unavailable', 'third'))
    await expect(waiting).rejects.toBe(reason)
    await expect(stream.send('late')).rejects.toBe(reason)
    expect(ends).toEqual([reason])
  })
})
