import { describe, expect, it } from 'vitest'
import { MemoryDisk } from '../../../src/storage/engine/memory-engine.js'
import { STATE_KEY, walKey } from '../../../src/storage/keys/raw-keys.js'
import { bytes, entriesAfter, openFixture, put, rootsOf, textOf } from './fixture.js'

const spoil = (disk: MemoryDisk, key: string, at: number): void => {
  const value = Buffer.from(disk.map.get(key) ?? '')
  value[at] = (value[at] ?? 0) ^ 0x10
  disk.map.set(key, value)
}

/** Returns a disk with three frames, as after a crash. */
const crashed = async (): Promise<MemoryDisk> => {
  const { store, disk } = await openFixture()
  for (const name of ['a', 'b', 'c']) await put(store, `logical/${name}`, name)
  disk.crash()
  return disk
}

describe('opening a store after a crash', () => {
  it('a store has all acknowledged writes after a crash, with the same roots and position', async () => {
    const { store, disk } = await openFixture()
    for (let i = 0; i < 200; i++) await put(store, `logical/${i % 50}`, `value ${i}`)
    await put(store, 'sys/token/x', 'token')
    const { position } = store
    const roots = rootsOf(store)
    disk.crash()
    const again = await openFixture({}, disk)
    expect(again.store.position).toEqual(position)
    expect(rootsOf(again.store)).toEqual(roots)
    expect(textOf(again.store, 'logical/49')).toBe('value 199')
    expect([again.store.lastReplicatedIndex, again.store.lastShippedIndex]).toEqual([200, 201])
    expect(await put(again.store, 'logical/next', 'x')).toBe(202)
    expect(await entriesAfter(again.store, 0)).toHaveLength(202)
  })

  it('a store loses an unsynced transaction completely or not at all', async () => {
    const { store, disk } = await openFixture({ syncWrites: false })
    await store.write((tx) => {
      tx.put('logical/a', bytes('1'))
      tx.put('logical/b', bytes('1'))
    })
    disk.crash()
    const again = await openFixture({}, disk)
    expect([textOf(again.store, 'logical/a'), textOf(again.store, 'logical/b')]).toEqual([undefined, undefined])
    expect(again.store.position.index).toBe(0)
  })

  it('a store starts at a checkpoint after a clean close', async () => {
    const { store, disk, engine } = await openFixture()
    for (let i = 0; i < 20; i++) await put(store, `logical/${i}`, 'x')
    const roots = rootsOf(store)
    await store.close()
    await engine.close()
    const again = await openFixture({}, disk)
    expect(rootsOf(again.store)).toEqual(roots)
  })

  it('a store keeps its epoch, and frames contain it', async () => {
    const { store, disk } = await openFixture()
    await store.setEpoch('epoch-1')
    await put(store, 'logical/a', '1')
    disk.crash()
    const again = await openFixture({}, disk)
    expect(again.store.epoch).toBe('epoch-1')
    const [frame] = (await again.store.framesAfter(0, 1 << 20)) ?? []
    expect(frame?.bytes.includes('epoch-1')).toBe(true)
  })
})

describe('the chain check at start', () => {
  it('a store rejects a frame with any flipped bit', async () => {
    for (const index of [1, 2, 3]) {
      for (const at of [0, 25, 60, 70, 120]) {
        const disk = await crashed()
        spoil(disk, walKey(index), at)
        await expect(openFixture({}, disk), `frame ${index} byte ${at}`).rejects.toMatchObject({
          code: 'internal',
          message: expect.stringContaining(`the write-ahead log is broken at index ${index}`),
        })
      }
    }
  })

  it('a store rejects a log with a missing frame at its beginning, middle or end', async () => {
    for (const index of [1, 2, 3]) {
      const disk = await crashed()
      disk.map.delete(walKey(index))
      await expect(openFixture({}, disk)).rejects.toMatchObject({ message: expect.stringContaining('broken') })
    }
  })

  it('a store rejects frames of another log', async () => {
    const [one, other] = [await crashed(), new MemoryDisk()]
    const { store } = await openFixture({}, other, 'another seed')
    for (const name of ['a', 'b', 'c']) await put(store, `logical/${name}`, name)
    one.map.set(walKey(2), other.map.get(walKey(2)) ?? Buffer.alloc(0))
    await expect(openFixture({}, one)).rejects.toMatchObject({
      message: expect.stringContaining('the previous hash does not match'),
    })
  })

  it('a store rejects data with a lost or damaged state record', async () => {
    const lost = await crashed()
    lost.map.delete(STATE_KEY)
    await expect(openFixture({}, lost)).rejects.toMatchObject({ message: expect.stringContaining('state record') })
    const damaged = await crashed()
    damaged.map.set(STATE_KEY, bytes('{'))
    await expect(openFixture({}, damaged)).rejects.toMatchObject({ message: expect.stringContaining('state record') })
  })
})
