import { describe, expect, it } from 'vitest'
import { until } from '../../support/until.js'
import { openFixture, put, rootsOf } from './fixture.js'

/** Waits for queued writes: a new write resolves after them. */
const settle = async (store: { write: (fn: () => void) => Promise<unknown> }): Promise<void> => {
  await store.write(() => undefined)
}

const fill = async (store: Parameters<typeof put>[0], count: number, from = 0): Promise<void> => {
  for (let i = 0; i < count; i++) await put(store, `logical/${from + i}`, 'x'.repeat(100))
}

describe('retention of the log', () => {
  it('log retention keeps only the newest entries, at most a second late', async () => {
    const { store, clock, disk } = await openFixture({ walRetentionEntries: 20 })
    await fill(store, 50)
    const first = store.firstIndex
    clock.advance(1000)
    await settle(store)
    expect(first).toBe(1)
    expect(store.firstIndex).toBe(31)
    expect(await store.framesAfter(29, 1 << 20)).toBeUndefined()
    expect((await store.framesAfter(30, 1 << 20))?.length).toBe(20)
    expect(disk.map.get('w00000000000001')).toBeUndefined()
  })

  it('log retention keeps at least 16 entries', async () => {
    const { store, clock } = await openFixture({ walRetentionEntries: 1 })
    await fill(store, 40)
    clock.advance(1000)
    await settle(store)
    expect(store.firstIndex).toBe(25)
  })

  it('log retention limits bytes, too, and keeps the newest frame', async () => {
    const { store, clock } = await openFixture({ walRetentionBytes: 1000 })
    await fill(store, 40)
    clock.advance(1000)
    await settle(store)
    expect(store.walBytes).toBeLessThanOrEqual(1000)
    await put(store, 'logical/large', 'x'.repeat(5000))
    clock.advance(1000)
    await settle(store)
    expect(store.firstIndex).toBe(store.position.index)
  })

  it('log retention never counts a lost position as available, even during removal', async () => {
    const { store, clock, engine, disk } = await openFixture({ walRetentionEntries: 16, ringBytes: 1 })
    const places = [store.position]
    for (let i = 0; i < 40; i++) {
      await put(store, `logical/${i}`, 'x')
      places.push(store.position)
    }
    const findAstray = () => places.filter((place) => store.isAstray(place))
    const open = engine.shut('after')
    clock.advance(1000)
    await until(() => disk.map.get('w00000000000001') === undefined)
    expect(findAstray()).toEqual([])
    open()
    await settle(store)
    expect(store.firstIndex).toBe(25)
    expect(store.isAstray({ index: 30, hash: Buffer.alloc(20) })).toBe(true)
    expect(findAstray()).toEqual([])
  })

  it('log retention waits while a snapshot is open', async () => {
    const { store, clock } = await openFixture({ walRetentionEntries: 16 })
    await fill(store, 10)
    const snapshot = store.snapshot()
    await fill(store, 90, 10)
    clock.advance(5000)
    await settle(store)
    expect(store.firstIndex).toBe(1)
    expect(store.hasPosition(snapshot.position)).toBe(true)
    await snapshot.close()
    await snapshot.close()
    clock.advance(1000)
    await settle(store)
    expect(store.firstIndex).toBe(85)
  })

  it('log retention leaves trees and log readable for the next start', async () => {
    const { store, clock, disk } = await openFixture({ walRetentionEntries: 16 })
    for (let round = 0; round < 5; round++) {
      await fill(store, 37, round * 37)
      clock.advance(1000)
      await settle(store)
    }
    await fill(store, 5, 1000)
    const roots = rootsOf(store)
    const { position } = store
    disk.crash()
    const again = await openFixture({}, disk)
    expect(rootsOf(again.store)).toEqual(roots)
    expect(again.store.position).toEqual(position)
    expect((await again.store.examine()).pages).toEqual({ replicated: new Map(), local: new Map() })
  })

  it('log retention continues at start after a crash', async () => {
    const { store, disk } = await openFixture({ walRetentionEntries: 1000 })
    await fill(store, 60)
    disk.crash()
    const again = await openFixture({ walRetentionEntries: 20 }, disk)
    again.clock.advance(1000)
    await settle(again.store)
    expect(again.store.firstIndex).toBe(41)
  })
})

describe('reading the log', () => {
  it('log reads return the same frames from memory and from disk', async () => {
    const { store, disk } = await openFixture({ ringBytes: 1 << 20 })
    await fill(store, 40)
    const recent = (await store.framesAfter(0, 1 << 20)) ?? []
    disk.crash()
    const again = await openFixture({ ringBytes: 500 }, disk)
    const read = (await again.store.framesAfter(0, 1 << 20)) ?? []
    expect(read.map(({ bytes }) => bytes)).toEqual(recent.map(({ bytes }) => bytes))
    expect(read).toHaveLength(40)
  })

  it('log reads return up to the requested bytes, and at least one frame', async () => {
    for (const ringBytes of [500, 1 << 20]) {
      const { store } = await openFixture({ ringBytes })
      await fill(store, 30)
      const sizes: number[] = []
      let at = 0
      while (at < store.position.index) {
        const frames = (await store.framesAfter(at, 1000)) ?? []
        expect(frames.length).toBeGreaterThan(0)
        expect(frames[0]?.firstIndex).toBe(at + 1)
        sizes.push(frames.reduce((sum, { bytes }) => sum + bytes.length, 0))
        at = frames.at(-1)?.lastIndex ?? at
      }
      expect(Math.max(...sizes)).toBeLessThanOrEqual(1000)
      expect((await store.framesAfter(0, 1))?.length).toBe(1)
      expect(await store.framesAfter(store.position.index, 1000)).toEqual([])
    }
  })

  it('the log knows exactly the positions at which its frames end', async () => {
    const { store } = await openFixture({ ringBytes: 500 })
    const start = store.position
    await fill(store, 20)
    const frames = (await store.framesAfter(0, 1 << 20)) ?? []
    expect(store.hasPosition(start)).toBe(true)
    for (const { lastIndex, hash } of frames) {
      expect(store.hasPosition({ index: lastIndex, hash })).toBe(true)
      expect(store.hasPosition({ index: lastIndex + 1, hash })).toBe(false)
    }
    expect(store.hasPosition({ index: 5, hash: Buffer.alloc(20) })).toBe(false)
    expect(store.hasPosition({ index: 500, hash: Buffer.alloc(20) })).toBe(false)
  })

  it('log reads never return a damaged frame', async () => {
    const { store, disk } = await openFixture({ ringBytes: 500 })
    await fill(store, 20)
    const raw = 'w00000000000003'
    const value = Buffer.from(disk.map.get(raw) ?? '')
    value[110] = (value[110] ?? 0) ^ 1
    disk.map.set(raw, value)
    await expect(store.framesAfter(1, 1 << 20)).rejects.toMatchObject({ code: 'internal' })
  })
})
