import { expect, it } from 'vitest'
import type { Engine, Entry } from '../../../src/storage/engine/engine.js'
import { MemoryDisk } from '../../../src/storage/engine/memory-engine.js'
import { until } from '../../support/until.js'
import { openFixture, put } from './fixture.js'

/**
 * The acknowledged position survives a power loss independently of the data; otherwise lost data would go unnoticed.
 */

it('the position settles one second after a commit, once for all later ones', async () => {
  const { store, engine, clock } = await openFixture()
  for (let n = 0; n < 20; n++) await put(store, `logical/${n}`, 'v')
  expect(engine.settled).toEqual([])
  clock.advance(1000)
  await until(() => engine.settled.length > 0)
  expect(engine.settled).toEqual([engine.acknowledged])
  clock.advance(10_000)
  await put(store, 'logical/a', 'v')
  expect(engine.settled).toHaveLength(1)
  clock.advance(1000)
  await until(() => engine.settled.length === 2)
  expect(engine.settled.at(-1)).toEqual(engine.acknowledged)
})

it('settling delays no commit', async () => {
  const { store, engine, clock } = await openFixture()
  let release: () => void = () => undefined
  engine.inner.settleAcknowledged = () => new Promise((resolve) => (release = resolve))
  await put(store, 'logical/a', 'v')
  clock.advance(1000)
  await put(store, 'logical/b', 'v')
  expect([engine.acknowledged?.index, engine.settled]).toEqual([2, []])
  release()
  // Writes during a settlement get their own settlement, even if no further write follows.
  await until(() => engine.settled.length === 1)
  clock.advance(1000)
  release()
  await until(() => {
    release()
    return engine.settled.length === 2
  })
  expect(engine.settled.map((one) => one?.index)).toEqual([1, 2])
})

it('settling retries after a disk error, and completes when the store closes', async () => {
  const { store, engine, clock } = await openFixture()
  engine.settleFailure = new Error('no')
  await put(store, 'logical/a', 'v')
  clock.advance(1000)
  await new Promise((resolve) => setImmediate(resolve))
  expect(engine.settled).toEqual([])
  engine.settleFailure = undefined
  clock.advance(1000)
  await until(() => engine.settled.length === 1)
  await put(store, 'logical/b', 'v')
  await store.close()
  expect(engine.settled.at(-1)).toEqual(engine.acknowledged)
})

it('a store reports a log whose end was lost with the power, except for the last second', async () => {
  const disk = new MemoryDisk()
  const { store, engine, clock } = await openFixture({}, disk)
  await put(store, 'logical/a', 'v')
  const early = await contentsOf(engine)
  await put(store, 'logical/b', 'v')
  clock.advance(1000)
  await until(() => engine.settled.length === 1)
  const settled = await contentsOf(engine)
  await put(store, 'logical/c', 'v')
  disk.crash()
  expect(disk.acknowledged).toEqual(engine.settled[0])
  const opened = (contents: readonly Entry[]) => {
    const left = new MemoryDisk()
    left.apply(contents, true)
    left.acknowledged = disk.acknowledged
    return openFixture({}, left)
  }
  await expect(opened(early)).rejects.toMatchObject({ message: expect.stringContaining('lost its latest commits') })
  expect((await opened(settled)).store.position.index).toBe(2)
})

const contentsOf = async (engine: Engine): Promise<Entry[]> => {
  const found: Entry[] = []
  for await (const chunk of engine.scan({})) found.push(...chunk)
  return found
}
