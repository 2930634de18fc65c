import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { silentLog } from '../../../src/base/log.js'
import { systemClock } from '../../../src/base/clock.js'
import { nextTurn } from '../../../src/base/turn.js'
import { createSeededRandom } from '../../../src/base/random.js'
import type { Engine, EngineBatch } from '../../../src/storage/engine/engine.js'
import type { EngineSource } from '../../../src/storage/engine/engine-source.js'
import { openGenerations } from '../../../src/storage/engine/generations.js'
import { verifyStored } from '../../../src/storage/inspection/inspect.js'
import { LiveCopy } from '../../../src/storage/generations/live-copy.js'
import { openMemoryGenerations } from '../../../src/storage/engine/memory-generations.js'
import { dataKey, WAL_PREFIX } from '../../../src/storage/keys/raw-keys.js'
import type { Store } from '../../../src/storage/store/store.js'
import { openStore as openStoreOn } from '../../support/open-store.js'
import { bytes, rootsOf, textOf } from '../../unit/storage/fixture.js'
import { generationKinds } from '../../unit/storage/generation-kinds.js'

/** A successor generation replaces the live one while that is in use. */
let path: string
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'understudy-succession-'))
})
afterEach(() => rm(path, { recursive: true, force: true }))

const put = async (engine: Engine, key: string, text: string): Promise<void> => {
  const batch = engine.batch()
  batch.put(key, bytes(text))
  await batch.write({ isDurable: true })
}

const entriesOf = async (engine: Engine): Promise<Map<string, string>> => {
  const found = new Map<string, string>()
  for await (const chunk of engine.scan({})) for (const { key, value } of chunk) found.set(key, value.toString('hex'))
  return found
}

const openStore = (source: EngineSource): Promise<Store> =>
  openStoreOn({ engine: source.engine, clock: systemClock, walRetentionEntries: 16 })

const KINDS = generationKinds(() => path)

describe.each(KINDS)('a successor generation %s', (_name, make) => {
  it('a successor generation takes over behind the engine in use', async () => {
    const { open } = make()
    const source = await open()
    const { engine } = source
    await put(engine, 'a', 'old')
    const successor = await source.begin()
    await put(successor.engine, 'a', 'new')
    expect([engine.get('a'), source.generation]).toEqual([bytes('old'), 1])
    const predecessor = await successor.takeOver()
    expect([engine.get('a'), source.generation]).toEqual([bytes('new'), 2])
    expect(source.engine).toBe(engine)
    await predecessor.destroy()
    await source.close()
    const again = await open()
    expect([again.generation, again.engine.get('a')]).toEqual([2, bytes('new')])
    await again.close()
  })

  it('a successor generation leaves the old generation to its readers', async () => {
    const source = await make().open()
    const { engine } = source
    for (let i = 0; i < 2500; i++) await put(engine, `k${i}`, 'old')
    const snapshot = engine.snapshot()
    const scan = engine.scan({})[Symbol.asyncIterator]()
    await scan.next()
    const predecessor = await (await source.begin()).takeOver()
    let isUnread = false
    const unread = predecessor.unread().then(() => {
      isUnread = true
    })
    expect([engine.get('k1'), engine.get('k1', snapshot)]).toEqual([undefined, bytes('old')])
    expect((await scan.next()).value?.length).toBeGreaterThan(0)
    await snapshot.close()
    await snapshot.close()
    expect(isUnread).toBe(false)
    while (!(await scan.next()).done);
    await unread
    await predecessor.destroy()
    expect(await entriesOf(engine)).toEqual(new Map())
    await source.close()
  })

  it('a successor generation learns every key that is written later, and an abandoned one is removed', async () => {
    const { open } = make()
    const source = await open()
    await put(source.engine, 'before', '1')
    const successor = await source.begin()
    successor.follow()
    await put(source.engine, 'a', '1')
    await put(source.engine, 'b', '1')
    expect([successor.writtenCount, [...successor.takeWritten()]]).toEqual([2, ['a', 'b']])
    await put(source.engine, 'b', '2')
    expect([[...successor.takeWritten()], [...successor.takeWritten()]]).toEqual([['b'], []])
    await put(successor.engine, 'c', '1')
    await successor.abandon()
    await put(source.engine, 'd', '1')
    expect([source.generation, successor.writtenCount, source.engine.get('c')]).toEqual([1, 0, undefined])
    await (await source.begin()).abandon()
    await source.close()
    const again = await open()
    expect([again.generation, again.engine.get('d')]).toEqual([1, bytes('1')])
    await again.close()
  })

  it('a successor generation holds the live data after writes during the copy, and a store on it continues', async () => {
    const seed = Math.trunc(performance.now() * 1000)
    console.log(`seed ${seed}`)
    const random = createSeededRandom(seed)
    const { open } = make()
    const source = await open()
    const store = await openStore(source)
    const writeOne = () =>
      store.write((tx) => {
        const key = `logical/m/${random.bytes(2).readUInt16BE() % 3000}`
        if (random.bytes(1)[0] === 0) tx.delete(key)
        else tx.put(key, random.bytes(200))
        tx.put(`local/logical/m/${random.bytes(1)[0]}`, random.bytes(20))
      })
    for (let i = 0; i < 4000; i++) void writeOne()
    await store.importMutations([{ key: 'logical/m/imported', value: bytes('1') }], { ...store.position, epoch: '' })
    await store.write((tx) => tx.put('core/replication/purge', bytes('1')))
    const isLeftOut = (key: string) => key === dataKey('core/replication/purge')

    let isDone = false
    const writers = Array.from({ length: 8 }, async () => {
      for (; !isDone; await nextTurn()) await writeOne()
    })
    const successor = await source.begin()
    await store.pauseWrites(async () => successor.follow())
    const copy = new LiveCopy({ from: source.engine, to: successor, isLeftOut, check: () => undefined })
    await copy.copyAll()
    await copy.catchUp()
    let before = new Map<string, string>()
    let after = before
    const predecessor = await store.pauseWrites(async () => {
      await copy.finish()
      before = await entriesOf(source.engine)
      after = await entriesOf(successor.engine)
      return successor.takeOver()
    })
    for (let i = 0; i < 100; i++) await writeOne()
    isDone = true
    await Promise.all(writers)
    await predecessor.destroy()

    before.delete(dataKey('core/replication/purge'))
    const isFrame = ([key]: [string, string]) => key.startsWith(WAL_PREFIX)
    const withoutFrames = (entries: Map<string, string>) => new Map([...entries].filter((entry) => !isFrame(entry)))
    expect(after.size).toBeGreaterThan(3000)
    expect([...withoutFrames(before)].filter(([key, value]) => after.get(key) !== value)).toEqual([])
    expect(withoutFrames(after).size).toBe(withoutFrames(before).size)
    const roots = rootsOf(store)
    expect((await store.examine()).pages).toEqual({ replicated: new Map(), local: new Map() })
    await store.close()
    expect((await verifyStored(source.engine)).isSound).toBe(true)
    await source.close()
    const reopened = await open()
    const again = await openStore(reopened)
    expect([rootsOf(again), again.position, textOf(again, 'logical/m/imported')]).toEqual([roots, store.position, '1'])
    await again.close()
    await reopened.close()
  })
})

describe('a copy of a generation during many writes', () => {
  const copyAmid = async (write: (engine: Engine) => Promise<void>): Promise<Engine> => {
    const source = openMemoryGenerations()
    const batch = source.engine.batch()
    for (let i = 0; i < 3000; i++) batch.put(`k${i + 1000}`, bytes('old'))
    await batch.write({ isDurable: true })
    const successor = await source.begin()
    successor.follow()
    let checks = 0
    let written: Promise<void> | undefined
    const check = () => {
      if (++checks === 1) written = write(source.engine)
    }
    const copy = new LiveCopy({ from: source.engine, to: successor, isLeftOut: () => false, check })
    await copy.copyAll()
    await copy.catchUp()
    await copy.finish()
    await written
    return successor.engine
  }

  const writeMany = (last: (batch: EngineBatch) => void) => (engine: Engine) => {
    const batch = engine.batch()
    for (let i = 0; i < 9000; i++) batch.put(`a${i}`, bytes('much'))
    last(batch)
    return batch.write({ isDurable: true })
  }

  it('a copy during many writes keeps the newest value of a key', async () => {
    const copied = await copyAmid(writeMany((batch) => batch.put('k3999', bytes('new'))))
    expect(copied.get('k3999')?.toString()).toBe('new')
    expect((await entriesOf(copied)).size).toBe(12_000)
  })

  it('a copy during many writes does not restore a deleted key', async () => {
    const copied = await copyAmid(writeMany((batch) => batch.delete('k3999')))
    expect(copied.get('k3999')).toBeUndefined()
  })
})

describe('a successor generation on disk', () => {
  it('a reader of the old generation gets a retry error when that generation ends', async () => {
    const source = await openGenerations(path, silentLog)
    for (let i = 0; i < 2500; i++) await put(source.engine, `k${i}`, 'old')
    const snapshot = source.engine.snapshot()
    const scan = source.engine.scan({})[Symbol.asyncIterator]()
    await scan.next()
    const predecessor = await (await source.begin()).takeOver()
    await predecessor.destroy()
    await expect(scan.next()).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining('moved') })
    expect(() => source.engine.get('k1', snapshot)).toThrow(expect.objectContaining({ code: 'unavailable' }))
    await snapshot.close()
    await predecessor.unread()
    await source.close()
  })

  it('a start removes the successor of a killed process, and after a takeover the old generation', async () => {
    const source = await openGenerations(path, silentLog)
    await put(source.engine, 'a', 'old')
    const successor = await source.begin()
    await put(successor.engine, 'a', 'half')
    await successor.engine.close()
    expect((await readdir(path)).sort()).toEqual(['ballast', 'generation-1', 'generation-2', 'live'])
    await source.close()
    const before = await openGenerations(path, silentLog)
    expect([before.engine.get('a'), (await readdir(path)).sort()]).toEqual([
      bytes('old'),
      ['ballast', 'generation-1', 'live'],
    ])
    await (await before.begin()).takeOver()
    await before.close()
    const after = await openGenerations(path, silentLog)
    expect([after.generation, (await readdir(path)).sort()]).toEqual([2, ['ballast', 'generation-2', 'live']])
    await after.close()
  })
})
