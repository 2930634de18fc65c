import { mkdir, mkdtemp, readdir, readFile, rename, rm, rmdir, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { silentLog } from '../../../src/base/log.js'
import { openStore } from '../../support/open-store.js'
import { checkAfterCrash } from '../../../src/server/data/open-store.js'
import { openGenerations } from '../../../src/storage/engine/generations.js'
import { LARGE_VALUE_BYTES } from '../../../src/storage/engine/large-values.js'
import { LevelEngine } from '../../../src/storage/engine/level-engine.js'
import { parseFrame } from '../../../src/storage/log/frame.js'
import type { Store } from '../../../src/storage/store/store.js'
import { subPageOf } from '../../../src/storage/trees/leaf.js'
import { SUB_PAGES_PER_PAGE } from '../../../src/storage/trees/merkle.js'
import { until } from '../../support/until.js'
import { bytes } from './fixture.js'
import { createHash, type Hash } from 'node:crypto'

interface Turns {
  /** Turns of the event loop during the work. */
  readonly passed: number
  /** Turns that the work itself waited for. */
  readonly given: number
  /** Maximum number of bytes that one turn hashed in pieces. */
  readonly hashedMax: number
}

/** Measures the turns of the event loop until `work` has ended. */
const watchTurns = async (work: () => Promise<unknown>): Promise<Turns> => {
  const hash = Object.getPrototypeOf(createHash('sha256')) as Hash
  const { update } = hash
  const { setImmediate } = globalThis
  let passed = 0
  let hashed = 0
  let hashedMax = 0
  let isDone = false
  const count = () => {
    passed++
    hashed = 0
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  const given = vi.spyOn(globalThis, 'setImmediate')
  const updates = vi.spyOn(hash, 'update').mockImplementation(function (
    this: Hash,
    data: string | NodeJS.ArrayBufferView,
  ) {
    hashed += data instanceof Uint8Array ? data.length : 0
    hashedMax = Math.max(hashedMax, hashed)
    return Reflect.apply(update, this, [data])
  })
  try {
    await work()
    return { passed, given: given.mock.calls.length, hashedMax }
  } finally {
    isDone = true
    given.mockRestore()
    updates.mockRestore()
  }
}

let directory: string
let engine: LevelEngine
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'understudy-large-'))
  engine = await open()
})
afterEach(async () => {
  await engine.discard()
  await rm(directory, { recursive: true, force: true })
})

const open = (isDamageAccepted = false) => LevelEngine.open({ directory, createIfMissing: true, isDamageAccepted })

const large = (fill: number): Buffer => Buffer.alloc(LARGE_VALUE_BYTES, fill)

const put = async (values: Readonly<Record<string, Buffer>>, isDurable = true): Promise<void> => {
  const batch = engine.batch()
  for (const [key, value] of Object.entries(values)) batch.put(key, value)
  await batch.write({ isDurable })
}

const files = async (): Promise<string[]> => (await readdir(directory)).filter((name) => name.endsWith('.value'))

/** Simulates the end of the process. */
const crash = async (): Promise<void> => {
  await engine.discard()
  engine = await open()
}

describe('the file of a large value', () => {
  it('a value file exists only for a large value and is removed with it', async () => {
    await put({ a: large(1), b: large(2).subarray(1) })
    expect(await files()).toHaveLength(1)
    await put({ a: bytes('small') })
    await until(async () => (await files()).length === 0)
    expect(engine.get('a')).toEqual(bytes('small'))
  })

  it('no value file is written for a value that its own batch replaced', async () => {
    const batch = engine.batch()
    batch.put('a', large(1))
    batch.put('a', large(2))
    batch.put('b', large(3))
    batch.delete('b')
    await batch.write({ isDurable: true })
    expect(await files()).toHaveLength(1)
    expect(engine.get('a')?.equals(large(2))).toBe(true)
  })

  it('a value file stays while a snapshot or a scan may read it', async () => {
    await put({ a: large(1), b: bytes('b') })
    const snapshot = engine.snapshot()
    const scan = engine.scan({})[Symbol.asyncIterator]()
    await scan.next()
    await put({ a: bytes('small') })
    await snapshot.close()
    expect(await files()).toHaveLength(1)
    await scan.return?.(undefined)
    await until(async () => (await files()).length === 0)
  })

  it('a value file stays until the replacement of its value survives power loss', async () => {
    await put({ a: large(1) })
    await put({ a: bytes('small') }, false)
    expect(await files()).toHaveLength(1)
    await put({ b: bytes('b') })
    await until(async () => (await files()).length === 0)
  })

  it('a value file is found after a crash', async () => {
    await put({ a: large(1) })
    await crash()
    expect(engine.get('a')?.equals(large(1))).toBe(true)
    await put({ a: large(2) })
    await until(async () => (await files()).length === 1)
    await crash()
    expect(engine.get('a')?.equals(large(2))).toBe(true)
  })

  it('a start removes a value file whose batch a crash prevented', async () => {
    await put({ a: large(1) })
    const [name = ''] = await files()
    const whole = await readFile(join(directory, name))
    await engine.discard()
    await writeFile(join(directory, '000007.value'), whole)
    await writeFile(join(directory, '000008.value'), whole.subarray(0, 1000))
    await writeFile(join(directory, '000009.value'), '')
    engine = await open()
    await until(async () => (await files()).length === 1)
    expect(engine.get('a')?.equals(large(1))).toBe(true)
    await put({ b: large(2) })
    expect(engine.get('b')?.equals(large(2))).toBe(true)
  })

  it('a value file with a wrong bit is rejected at every start after a crash, and left unchanged', async () => {
    await put({ a: large(1) })
    const [name = ''] = await files()
    const whole = await readFile(join(directory, name))
    await engine.discard()
    for (const at of [0, 3, 4, 5, 1000, whole.length - 1]) {
      const changed = Buffer.from(whole)
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
      await writeFile(join(directory, name), changed)
      for (let times = 0; times < 2; times++) {
        await expect(open(), `byte ${at}`).rejects.toMatchObject({
          code: 'internal',
          message: expect.stringContaining(name),
        })
      }
    }
    await writeFile(join(directory, name), whole)
    engine = await open()
    expect(engine.get('a')?.equals(large(1))).toBe(true)
  })

  it('a value file stays at a start that misses another one, since it may be that file under another name', async () => {
    await put({ a: large(1), b: large(2) })
    const [a = '', b = ''] = await files()
    await engine.discard()
    const swap = async () => {
      await rename(join(directory, a), join(directory, 'aside'))
      await rename(join(directory, b), join(directory, a))
      await rename(join(directory, 'aside'), join(directory, b))
    }
    const requireRefused = async () => {
      for (let times = 0; times < 2; times++) {
        await expect(open()).rejects.toMatchObject({ code: 'internal', message: expect.stringContaining(a) })
      }
    }
    await swap()
    await requireRefused()
    await swap()
    await rename(join(directory, a), join(directory, '000900.value'))
    await requireRefused()
    await rename(join(directory, '000900.value'), join(directory, a))
    engine = await open()
    expect([engine.get('a')?.equals(large(1)), engine.get('b')?.equals(large(2))]).toEqual([true, true])
  })

  it('other directory entries with a similar name are not value files', async () => {
    await put({ a: large(1) })
    await engine.discard()
    await mkdir(join(directory, '000008.value'))
    await symlink(join(directory, 'nothing'), join(directory, '000009.value'))
    for (const name of ['5.value', '281474976710655.value', '99999999999999999999.value']) {
      await writeFile(join(directory, name), 'somebody else')
    }
    engine = await open()
    await put({ b: large(2) })
    await crash()
    expect([engine.get('a')?.equals(large(1)), engine.get('b')?.equals(large(2))]).toEqual([true, true])
    expect(await files()).toEqual(expect.arrayContaining(['000008.value', '5.value', '281474976710655.value']))
  })

  it('a batch that began before a reopen does not overwrite a value file', async () => {
    const late = engine.batch()
    late.put('late', large(1))
    await engine.reopen()
    await put({ a: large(2) })
    await expect(late.write({ isDurable: true })).rejects.toMatchObject({ code: 'unavailable' })
    expect(engine.get('a')?.equals(large(2))).toBe(true)
    expect(await files()).toHaveLength(1)
    await crash()
    expect(engine.get('a')?.equals(large(2))).toBe(true)
  })

  it('a missing value file fails a read of its value, except in a damage report', async () => {
    await put({ a: large(1), b: bytes('b') })
    const [name = ''] = await files()
    await rm(join(directory, name))
    expect(() => engine.get('a')).toThrow(/the data is damaged: .*value/)
    expect(engine.get('b')).toEqual(bytes('b'))
    await engine.discard()
    engine = await open(true)
    expect(engine.get('a')).toEqual(Buffer.alloc(0))
    await engine.discard()
    engine = await open()
    expect(() => engine.get('a')).toThrow(/the data is damaged: .*value \(missing\)/)
  })

  it('a small value that looks like a reference to a value file gets its own value file', async () => {
    const seen: Buffer[] = []
    await put({ a: large(1) })
    // The record of the value in the database, from its log.
    const log = (await readdir(directory)).find((name) => /^\d+\.log$/.test(name)) ?? ''
    const written = await readFile(join(directory, log))
    const mark = written.indexOf(Buffer.from('c4a1f3e2967d4b58a90e57d2186bcf03', 'hex'))
    expect(mark).toBeGreaterThan(0)
    seen.push(written.subarray(mark, mark + 32))
    await put({ b: seen[0] ?? bytes('') })
    expect(engine.get('b')).toEqual(seen[0])
    expect(await files()).toHaveLength(2)
  })
})

/** Starts as after a kill. Returns the result of `work`, or the error of the start. */
const startAgain = async <T>(path: string, work: (store: Store) => T | Promise<T>): Promise<T | string> => {
  const source = await openGenerations(path, silentLog).catch((error: unknown) => String(error))
  if (typeof source === 'string') return source
  const options = { walRetentionEntries: 16, walRetentionBytes: 1 << 20 }
  try {
    const store = await openStore({ engine: source.engine, ...options })
    await checkAfterCrash(source, store, silentLog)
    return await work(store)
  } catch (error) {
    return String(error)
  } finally {
    source.die()
    await source.close()
  }
}

it('a store with changed or missing large values is not served after a kill', async () => {
  const path = join(directory, 'data')
  await startAgain(path, (store) => store.write((tx) => tx.put('logical/mount/a', large(1))))
  const read = () => startAgain(path, (store) => store.get('logical/mount/a')?.equals(large(1)))
  expect(await read()).toBe(true)
  const generation = join(path, 'generation-1')
  const names = (await readdir(generation)).filter((name) => name.endsWith('.value'))
  // The value file, and the file of the log frame with the value.
  expect(names).toHaveLength(2)
  for (const name of names) {
    const whole = await readFile(join(generation, name))
    await rm(join(generation, name))
    for (let times = 0; times < 2; times++) expect(await read()).toContain('the data is damaged')
    const changed = Buffer.from(whole)
    changed.writeUInt8(changed.readUInt8(5000) ^ 1, 5000)
    await writeFile(join(generation, name), changed)
    for (let times = 0; times < 2; times++) expect(await read()).toContain(name)
    await writeFile(join(generation, name), whole)
  }
  expect(await read()).toBe(true)
})

it('a large value that does not fit on the disk fails alone: other values are written', async () => {
  const path = join(directory, 'data')
  await startAgain(path, async (store) => {
    const put = (name: string, value: Buffer) => store.write((tx) => tx.put(`logical/mount/${name}`, value))
    // The path of the log frame with the value.
    const place = join(path, 'generation-1', '000002.value')
    await mkdir(place)
    const behind: Promise<unknown>[] = []
    const refused = put('a', large(1))
    for (const name of ['b', 'c']) behind.push(put(name, bytes(name)))
    const answers = await Promise.allSettled([refused, ...behind])
    expect(answers[0]).toMatchObject({ status: 'rejected', reason: { code: 'unavailable' } })
    await put('d', bytes('d'))
    expect([store.get('logical/mount/a'), store.get('logical/mount/d')]).toEqual([undefined, bytes('d')])
    await rmdir(place)
    await put('a', large(2))
    expect(store.get('logical/mount/a')?.equals(large(2))).toBe(true)
    expect((await store.examine()).damage).toEqual([])
  })
  const found = await startAgain(path, (store) => store.get('logical/mount/a')?.equals(large(2)))
  expect(found).toBe(true)
})

describe('work on many large values', () => {
  const MIB = 1024 * 1024
  const OPTIONS = { walRetentionEntries: 16, walRetentionBytes: 1 << 28 }
  const openAgain = () => openStore({ engine, ...OPTIONS })
  /** Size of the values, and of the log frames that contain them. */
  const TOTAL_MIB = 3 * 8

  /** Returns a store that has just written three values of 8 MiB. */
  const written = async (): Promise<Store> => {
    const store = await openAgain()
    for (let n = 1; n <= 3; n++) await store.write((tx) => tx.put(`logical/${n}`, Buffer.alloc(8 * MIB, n)))
    return store
  }

  const drain = async (chunks: AsyncIterable<unknown>): Promise<void> => {
    for await (const _ of chunks);
  }

  it('a scan yields to the event loop for each MiB', async () => {
    await written()
    const { passed } = await watchTurns(() => drain(engine.scan({ gte: 'd', lt: 'e' })))
    expect(passed).toBeGreaterThanOrEqual(TOTAL_MIB)
  })

  it('opening a store yields to the event loop for each MiB of its log', async () => {
    const store = await written()
    await store.close()
    expect((await watchTurns(openAgain)).given).toBeGreaterThanOrEqual(TOTAL_MIB)
  })

  it('reading log frames yields to the event loop for each MiB', async () => {
    const store = await written()
    expect((await watchTurns(() => store.framesAfter(0, 1 << 28))).given).toBeGreaterThanOrEqual(TOTAL_MIB)
  })

  it('checking a received frame yields to the event loop for each MiB', async () => {
    const store = await written()
    const [frame] = (await store.framesAfter(0, 1)) ?? []
    const { given } = await watchTurns(() => parseFrame(frame?.bytes ?? bytes('')))
    expect(given).toBeGreaterThanOrEqual(8)
  })

  it('examining the trees hashes at most two MiB per turn of the event loop', async () => {
    const store = await written()
    const { given, hashedMax } = await watchTurns(() => store.examine())
    expect(given).toBeGreaterThanOrEqual(TOTAL_MIB)
    expect(hashedMax).toBeLessThanOrEqual(2 * MIB)
  })

  it('a rebuild yields to the event loop while it searches wrong leaf records', async () => {
    const store = await written()
    const batch = engine.batch()
    for await (const chunk of engine.scan({ gte: 'i', lt: 'j' }, { values: false })) {
      for (const { key } of chunk) batch.put(key, Buffer.alloc(20, 7))
    }
    await batch.write({ isDurable: true })
    const { given, hashedMax } = await watchTurns(() => store.rebuild())
    expect(given).toBeGreaterThanOrEqual(2 * TOTAL_MIB)
    expect(hashedMax).toBeLessThanOrEqual(2 * MIB)
    expect((await store.examine()).damage).toEqual([])
  })

  it('a rebuild repairs a sub-page while a large value is written to it', async () => {
    const store = await written()
    const names = Array.from({ length: 4096 }, (_, n) => `logical/name-${n}`)
    const key = names.find((name) => subPageOf(name) % SUB_PAGES_PER_PAGE === 0) ?? ''
    await store.write((tx) => tx.put(key, Buffer.alloc(8 * MIB, 1)))
    store.corruptPage('replicated', subPageOf(key) / SUB_PAGES_PER_PAGE)
    let writing: Promise<unknown> | undefined
    const onProgress = () => {
      writing ??= store.write((tx) => tx.put(key, Buffer.alloc(8 * MIB, 2)))
    }
    const { hashedMax } = await watchTurns(() => store.rebuild({ onProgress }))
    // The write itself hashes its value in one turn.
    expect(hashedMax).toBeLessThanOrEqual(9 * MIB)
    await writing
    expect((await store.examine()).pages.replicated.size).toBe(0)
  })

  it('the position of a large frame is known without reading it', async () => {
    const store = await written()
    const [frame] = (await store.framesAfter(0, 1)) ?? []
    if (!frame) throw new Error('there is no frame')
    for (const name of await files()) await rm(join(directory, name))
    expect(store.hasPosition({ index: frame.lastIndex, hash: frame.hash })).toBe(true)
    expect(store.hasPosition({ index: frame.lastIndex, hash: Buffer.alloc(20) })).toBe(false)
  })

  it('sealing and verifying files yields to the event loop for each MiB', async () => {
    await written()
    expect((await watchTurns(() => engine.close())).given).toBeGreaterThanOrEqual(2 * TOTAL_MIB)
    const opened = await watchTurns(async () => {
      engine = await open()
    })
    expect(opened.given).toBeGreaterThanOrEqual(2 * TOTAL_MIB)
  })
})
