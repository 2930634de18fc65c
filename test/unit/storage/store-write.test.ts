import { describe, expect, it } from 'vitest'
import { LogicalError } from '../../../src/logical/errors.js'
import type { Transaction } from '../../../src/logical/storage.js'
import type { Store } from '../../../src/storage/store/store.js'
import { bytes, entriesAfter, type Fixture, openFixture, put, textOf } from './fixture.js'

const noSpace = new LogicalError('unavailable', 'no space left on the storage device: nothing can be written')

const refuseIfThere = (tx: Transaction): void => {
  if (tx.get('logical/a')) throw new LogicalError('invalid-request', 'it is there')
}

describe('a write', () => {
  it('a write is readable when it resolves, and not before', async () => {
    const { store, engine } = await openFixture()
    const open = engine.shut()
    const written = put(store, 'logical/a', '1')
    await Promise.resolve()
    expect(store.get('logical/a')).toBeUndefined()
    open()
    expect(await written).toBe(1)
    expect(textOf(store, 'logical/a')).toBe('1')
  })

  it('a write returns the result of its function and its index', async () => {
    const { store } = await openFixture()
    await put(store, 'logical/a', '1')
    const written = await store.write((tx) => {
      tx.put('logical/b', bytes('2'))
      return 'result'
    })
    expect(written).toEqual({ value: 'result', index: 2 })
  })

  it('a write sees its own changes and queued ones', async () => {
    const { store, engine } = await openFixture()
    await put(store, 'logical/n', '1')
    const open = engine.shut()
    const increments = Array.from({ length: 100 }, () =>
      store.write((tx) => {
        const next = Number(tx.get('logical/n')) + 1
        tx.put('logical/n', bytes(String(next)))
        return Number(tx.get('logical/n'))
      }),
    )
    open()
    const values = (await Promise.all(increments)).map(({ value }) => value)
    expect(values).toEqual(Array.from({ length: 100 }, (_, i) => i + 2))
    expect(textOf(store, 'logical/n')).toBe('101')
  })

  it('a write sees a queued deletion', async () => {
    const { store } = await openFixture()
    await put(store, 'logical/a', '1')
    const deleted = store.write((tx) => tx.delete('logical/a'))
    const seen = store.write((tx) => tx.get('logical/a'))
    await deleted
    expect((await seen).value).toBeUndefined()
  })

  it('a write whose function throws leaves nothing', async () => {
    const { store, engine } = await openFixture()
    const before = engine.batches.length
    const failed = store.write((tx) => {
      tx.put('logical/a', bytes('1'))
      throw new LogicalError('invalid-request', 'no')
    })
    await expect(failed).rejects.toMatchObject({ message: 'no' })
    expect((await store.write((tx) => tx.get('logical/a'))).value).toBeUndefined()
    expect(engine.batches.length).toBe(before)
    expect(store.position.index).toBe(0)
  })

  it('a write that fails because of a queued write waits until that is durable', async () => {
    const { store, engine } = await openFixture()
    const open = engine.shut()
    const first = put(store, 'logical/a', '1')
    let isRefused = false
    const refused = store.write(refuseIfThere).catch((error: unknown) => {
      isRefused = true
      throw error
    })
    const other = store.write((tx) => {
      tx.get('logical/b')
      throw new LogicalError('invalid-request', 'of no concern')
    })
    await expect(other).rejects.toThrow('of no concern')
    expect(isRefused).toBe(false)
    expect(store.get('logical/a')).toBeUndefined()
    open()
    await expect(refused).rejects.toThrow('it is there')
    await first
    expect(textOf(store, 'logical/a')).toBe('1')
    expect(engine.batches.length).toBe(2)
  })

  it('a write that fails because of a lost write gets the error of that write', async () => {
    const { store, engine } = await openFixture()
    engine.failure = noSpace
    const lost = put(store, 'logical/a', '1')
    await Promise.all([expect(lost).rejects.toBe(noSpace), expect(store.write(refuseIfThere)).rejects.toBe(noSpace)])
  })

  it('waiting writes share one durable batch', async () => {
    const { store, engine } = await openFixture()
    const open = engine.shut()
    const first = put(store, 'logical/first', 'x')
    // The first batch is being written before the others are queued.
    while (engine.batches.length < 2) await Promise.resolve()
    const others = Array.from({ length: 50 }, (_, i) => put(store, `logical/${i}`, 'x'))
    open()
    await Promise.all([first, ...others])
    expect(engine.batches.length).toBe(3)
    expect(engine.durable.every(Boolean)).toBe(true)
    const frames = (await store.framesAfter(0, 1 << 20)) ?? []
    expect(frames.map((frame) => [frame.firstIndex, frame.lastIndex])).toEqual([
      [1, 1],
      [2, 51],
    ])
  })

  it('a write is one log entry with all its local and replicated keys', async () => {
    const { store } = await openFixture()
    await store.write((tx) => {
      tx.put('logical/a', bytes('1'))
      tx.put('cubbyhole/b', bytes('2'))
      tx.put('core/replication/announced/c', bytes('3'))
    })
    const [entry, ...rest] = await entriesAfter(store, 0)
    expect(rest).toEqual([])
    expect(entry?.operations.map(({ key, category }) => [key, category])).toEqual([
      ['logical/a', 'replicated'],
      ['cubbyhole/b', 'local'],
    ])
    expect(textOf(store, 'core/replication/announced/c')).toBe('3')
  })

  it('a write of ignored keys only creates no log entry', async () => {
    const { store } = await openFixture()
    await put(store, 'logical/a', '1')
    expect(await put(store, 'core/replication/announced/x', '1')).toBe(1)
    expect(store.position.index).toBe(1)
    expect(textOf(store, 'core/replication/announced/x')).toBe('1')
  })

  it('replicated and shipped entries are counted separately', async () => {
    const { store } = await openFixture()
    await put(store, 'logical/a', '1')
    await Promise.all([put(store, 'logical/b', '1'), put(store, 'cubbyhole/c', '1')])
    await put(store, 'core/replication/announced/x', '1')
    expect([store.position.index, store.lastReplicatedIndex, store.lastShippedIndex]).toEqual([3, 2, 3])
  })

  it('a write of a read-only key category fails', async () => {
    const { store } = await openFixture()
    store.setWritable(new Set(['local', 'ignored']))
    await expect(put(store, 'logical/a', '1')).rejects.toMatchObject({
      code: 'read-only',
      message: 'cannot write to readonly storage',
    })
    await expect(store.write((tx) => tx.delete('logical/a'))).rejects.toMatchObject({ code: 'read-only' })
    await put(store, 'cubbyhole/a', '1')
    await put(store, 'core/replication/announced/a', '1')
  })

  it('a write of a key without a category fails as a bug, not as a request error', async () => {
    const { store } = await openFixture()
    const failed = put(store, 'nowhere/a', '1')
    await expect(failed).rejects.toThrow('no category')
    await expect(failed).rejects.not.toBeInstanceOf(LogicalError)
  })

  it('a write is announced once, in order, when it is durable', async () => {
    const { store } = await openFixture()
    const seen: unknown[] = []
    const stop = store.onCommit((commit, frame) => {
      seen.push([commit.lastIndex, commit.origin, [...commit.mutations].map(({ key }) => key), frame?.lastIndex])
    })
    await put(store, 'logical/a', '1')
    await put(store, 'core/replication/announced/x', '1')
    stop()
    await put(store, 'logical/b', '1')
    expect(seen).toEqual([
      [1, 'own', ['logical/a'], 1],
      [1, 'own', ['core/replication/announced/x'], undefined],
    ])
  })

  it('a write requests durability only if the store is configured so', async () => {
    const { store, engine } = await openFixture({ syncWrites: false })
    await put(store, 'logical/a', '1')
    expect(engine.durable.at(-1)).toBe(false)
  })
})

describe('a batch that fails', () => {
  it('a failed batch fails all queued writes and leaves nothing', async () => {
    const { store, engine } = await openFixture()
    await put(store, 'logical/n', '1')
    const root = store.trees.replicated.root()
    const open = engine.shut()
    const first = put(store, 'logical/n', '2')
    while (engine.batches.length < 3) await Promise.resolve()
    const second = store.write((tx) => tx.put('logical/n', bytes(`${tx.get('logical/n')}3`)))
    const outcome = Promise.allSettled([first, second])
    engine.failure = noSpace
    open()
    expect((await outcome).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(textOf(store, 'logical/n')).toBe('1')
    expect(store.trees.replicated.root()).toEqual(root)
    expect(store.position.index).toBe(1)
  })

  it('a failed batch stops writes until the engine is reopened, and reads continue', async () => {
    const { store, engine, clock } = await openFixture()
    await put(store, 'logical/a', '1')
    engine.failure = noSpace
    engine.reopenFailure = noSpace
    await expect(put(store, 'logical/b', '1')).rejects.toBe(noSpace)
    engine.failure = undefined
    await expect(put(store, 'logical/b', '1')).rejects.toBe(noSpace)
    expect(textOf(store, 'logical/a')).toBe('1')
    clock.advance(1000)
    await expect(put(store, 'logical/b', '1')).rejects.toBe(noSpace)

    engine.reopenFailure = undefined
    let index: number | undefined
    while (index === undefined) {
      clock.advance(1000)
      await new Promise((resolve) => setImmediate(resolve))
      index = await put(store, 'logical/b', '2').catch(() => undefined)
    }
    expect(index).toBe(2)
    expect(textOf(store, 'logical/b')).toBe('2')
  })
})

describe('a batch that is written and fails all the same', () => {
  it('a failed batch that reached the disk is in no snapshot before the storage is reopened', async () => {
    const { store, engine, clock } = await openFixture()
    await put(store, 'logical/a', '1')
    engine.lateFailure = new Error('the answer was lost')
    await expect(put(store, 'logical/b', '1')).rejects.toThrow('the answer was lost')
    engine.lateFailure = undefined
    expect(store.position.index).toBe(1)
    expect(() => store.snapshot()).toThrow(expect.objectContaining({ code: 'unavailable' }))
    // A follower that got the position from a snapshot during the write has nothing that this log certainly lacks.
    expect(store.isAstray({ index: 2, hash: Buffer.alloc(20) })).toBe(false)
    while (store.position.index < 2) {
      clock.advance(1000)
      await new Promise((resolve) => setImmediate(resolve))
    }
    const snapshot = store.snapshot()
    expect(snapshot.position.index).toBe(2)
    expect(snapshot.trees.replicated.root()).toEqual(store.trees.replicated.root())
    await snapshot.close()
    expect(store.isAstray({ index: 2, hash: Buffer.alloc(20) })).toBe(true)
  })
})

describe('a pause of writes', () => {
  it('a pause begins after the current batch, and reads continue', async () => {
    const { store, engine } = await openFixture()
    const before = engine.batches.length
    const first = put(store, 'logical/a', '1')
    let end: () => void = () => undefined
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    const paused = store.pauseWrites(async () => {
      const seen = textOf(store, 'logical/a')
      await ended
      return seen
    })
    let isWritten = false
    const second = put(store, 'logical/b', '1').then(() => {
      isWritten = true
    })
    await first
    await new Promise((resolve) => setImmediate(resolve))
    expect([engine.batches.length - before, isWritten, textOf(store, 'logical/a')]).toEqual([1, false, '1'])
    end()
    expect(await paused).toBe('1')
    await second
    expect(engine.batches.length - before).toBe(2)
  })

  it('a failed pause affects no other write', async () => {
    const { store } = await openFixture()
    const paused = store.pauseWrites(() => Promise.reject(new Error('no')))
    const written = put(store, 'logical/a', '1')
    await expect(paused).rejects.toThrow('no')
    expect(await written).toBe(1)
  })
})

describe('closing', () => {
  it('close completes queued writes and rejects later ones', async () => {
    const { store } = await openFixture()
    const written = put(store, 'logical/a', '1')
    await store.close()
    expect(await written).toBe(1)
    await expect(put(store, 'logical/b', '1')).rejects.toMatchObject({ code: 'unavailable' })
    await store.close()
  })
})

it('a rejected write leaves no batch', async () => {
  const { engine, store } = await openFixture()
  await put(store, 'logical/a', '1')
  expect(engine.discarded).toBe(0)
  await store.write((tx) => tx.get('logical/a'))
  expect(engine.discarded).toBe(1)
})

describe('a batch that has failed', () => {
  const untilWritable = async ({ store, clock }: Fixture): Promise<void> => {
    for (let isDone = false; !isDone; ) {
      clock.advance(1000)
      await new Promise((resolve) => setImmediate(resolve))
      isDone = await put(store, 'cubbyhole/after', '1').then(
        () => true,
        () => false,
      )
    }
  }

  it.each<[string, (store: Store) => Promise<unknown>, readonly string[]]>([
    ['logged keys', (store) => put(store, 'logical/a', '2'), ['logical/a']],
    [
      'keys that are not logged',
      (store) => put(store, 'core/replication/announced/a', '2'),
      ['core/replication/announced/a'],
    ],
    ['a resync', (store) => store.importMutations([{ key: 'logical/a', value: bytes('2') }]), ['logical/a']],
    ['the end of a resync', (store) => store.importMutations([], { ...store.position, epoch: '' }), ['logical/a']],
  ])('a failed batch that reached the disk is announced to all listeners: %s', async (name, write, keys) => {
    const fixture = await openFixture()
    const { store, engine } = fixture
    await put(store, 'logical/a', '1')
    const told: [string, string, string | undefined][] = []
    store.onCommit(({ origin, mutations }) => {
      for (const { key } of mutations) told.push([origin, key, textOf(store, key)])
    })
    if (name === 'the end of a resync') {
      store.holdReads()
      await store.importMutations([{ key: 'logical/a', value: bytes('2') }])
    }
    engine.lateFailure = noSpace
    await expect(write(store)).rejects.toBe(noSpace)
    engine.lateFailure = undefined
    await untilWritable(fixture)
    const found = told.filter(([, key]) => key !== 'cubbyhole/after')
    expect(found).toEqual(keys.map((key) => ['recovered', key, '2']))
  })

  it('close waits for a running repair of a failed batch and starts no other one', async () => {
    const { store, engine, clock } = await openFixture()
    engine.failure = noSpace
    await expect(put(store, 'logical/a', '1')).rejects.toBe(noSpace)
    engine.failure = undefined
    let open: () => void = () => undefined
    engine.reopening = new Promise<void>((resolve) => {
      open = resolve
    })
    clock.advance(1000)
    let isClosed = false
    const closing = store.close().then(() => {
      isClosed = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    expect(isClosed).toBe(false)
    open()
    await closing
    engine.reopenFailure = new Error('opened again after it was closed')
    clock.advance(10_000)
    await expect(put(store, 'logical/a', '1')).rejects.toMatchObject({ message: 'the storage is closed' })
  })
})
