import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type Engine,
  type Entry,
  type KeyRange,
  prefixRange,
  type ScanOptions,
} from '../../src/storage/engine/engine.js'

/** A directory or disk on which engines are opened, closed and opened again. */
export interface EngineFixture {
  open(): Promise<Engine>
  destroy(): Promise<void>
}

const bytes = (text: string): Buffer => Buffer.from(text)

const collect = async (engine: Engine, range: KeyRange, options?: ScanOptions): Promise<Entry[]> => {
  const found: Entry[] = []
  for await (const chunk of engine.scan(range, options)) found.push(...chunk)
  return found
}

const keysOf = async (engine: Engine, range: KeyRange, options?: ScanOptions): Promise<string[]> =>
  (await collect(engine, range, options)).map(({ key }) => key)

const put = async (engine: Engine, ...keys: string[]): Promise<void> => {
  const batch = engine.batch()
  for (const key of keys) batch.put(key, bytes(`value of ${key}`))
  await batch.write({ isDurable: true })
}

/** Tests the behavior of a storage engine. */
export const describeEngine = (name: string, createFixture: () => Promise<EngineFixture>): void => {
  describe(`a storage engine (${name})`, () => {
    let fixture: EngineFixture
    let engine: Engine

    beforeEach(async () => {
      fixture = await createFixture()
      engine = await fixture.open()
    })

    afterEach(async () => {
      await engine.close()
      await fixture.destroy()
    })

    it('a storage engine returns what was put, and nothing for other keys', async () => {
      await put(engine, 'a')
      expect(engine.get('a')).toEqual(bytes('value of a'))
      expect(engine.get('b')).toBeUndefined()
      expect(engine.get('')).toBeUndefined()
    })

    it('a storage engine keeps empty values and binary values', async () => {
      const binary = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
      const batch = engine.batch()
      batch.put('empty', Buffer.alloc(0))
      batch.put('binary', binary)
      await batch.write({ isDurable: true })
      expect(engine.get('empty')).toEqual(Buffer.alloc(0))
      expect(engine.get('binary')).toEqual(binary)
    })

    it('a storage engine distinguishes keys of any length and alphabet', async () => {
      const keys = ['k', 'ключ', '鍵', '🔑', `${'x'.repeat(65)}é`, 'é'.repeat(40_000), `${'é'.repeat(40_000)}è`]
      for (let length = 60; length < 70; length++) keys.push(`${'y'.repeat(length)}🔑`, `${'y'.repeat(length)}🔒`)
      await put(engine, ...keys)
      for (const key of keys) expect(engine.get(key)?.toString(), key.slice(0, 80)).toBe(`value of ${key}`)
    })

    it('a storage engine applies a batch in order and as a whole', async () => {
      await put(engine, 'a', 'b')
      const batch = engine.batch()
      batch.put('a', bytes('first'))
      batch.put('a', bytes('second'))
      batch.delete('b')
      batch.put('c', bytes('c'))
      batch.delete('c')
      expect(batch.length).toBe(5)
      expect(engine.get('a')).toEqual(bytes('value of a'))
      await batch.write({ isDurable: true })
      expect(engine.get('a')).toEqual(bytes('second'))
      expect(await keysOf(engine, {})).toEqual(['a'])
    })

    it('a storage engine scans in the order of UTF-8 bytes', async () => {
      const keys = ['z', 'a/b', 'a', 'a0', 'é', '\uffee', '🔑', 'ключ', 'A']
      await put(engine, ...keys)
      const sorted = [...keys].sort((x, y) => Buffer.compare(bytes(x), bytes(y)))
      expect(await keysOf(engine, {})).toEqual(sorted)
      expect(await keysOf(engine, {}, { reverse: true })).toEqual(sorted.toReversed())
    })

    it('a scan of a storage engine respects the bounds of its range', async () => {
      await put(engine, 'a', 'b', 'c', 'd')
      expect(await keysOf(engine, { gte: 'b', lt: 'd' })).toEqual(['b', 'c'])
      expect(await keysOf(engine, { gt: 'b', lte: 'd' })).toEqual(['c', 'd'])
      expect(await keysOf(engine, { gt: 'b', lt: 'd' }, { reverse: true })).toEqual(['c'])
      expect(await keysOf(engine, { gte: 'bb', lte: 'cc' }, { reverse: true })).toEqual(['c'])
      expect(await keysOf(engine, { gte: 'x' })).toEqual([])
      expect(await keysOf(engine, { lt: 'a' }, { reverse: true })).toEqual([])
      expect(await keysOf(engine, {}, { limit: 2 })).toEqual(['a', 'b'])
      expect(await keysOf(engine, {}, { limit: 2, reverse: true })).toEqual(['d', 'c'])
    })

    it('a storage engine finds exactly the keys below a prefix', async () => {
      await put(engine, 'a', 'a/', 'a/b', 'a/\uffff', 'a/🔑', 'a0', 'b')
      expect(await keysOf(engine, prefixRange('a/'))).toEqual(['a/', 'a/b', 'a/\uffff', 'a/🔑'])
      expect(await keysOf(engine, prefixRange(''))).toHaveLength(7)
    })

    it('a scan of a storage engine omits values on request', async () => {
      await put(engine, 'a')
      expect(await collect(engine, {}, { values: false })).toEqual([{ key: 'a', value: Buffer.alloc(0) }])
    })

    it('a storage engine scans many entries without loss during writes', async () => {
      const keys = Array.from({ length: 5000 }, (_, i) => `k${String(i).padStart(5, '0')}`)
      await put(engine, ...keys)
      const found: string[] = []
      for await (const chunk of engine.scan({})) {
        if (found.length === 0) await put(engine, 'k00000x', 'zzz')
        found.push(...chunk.map(({ key }) => key))
      }
      expect(found).toEqual(keys)
      expect(await keysOf(engine, {})).toHaveLength(5002)
    })

    it('a scan of a storage engine can stop early', async () => {
      await put(engine, ...Array.from({ length: 3000 }, (_, i) => `k${i}`))
      for await (const chunk of engine.scan({})) {
        expect(chunk.length).toBeGreaterThan(0)
        break
      }
      await put(engine, 'after')
      expect(engine.get('after')).toBeDefined()
    })

    it('a snapshot of a storage engine does not show later writes', async () => {
      await put(engine, 'a', 'b')
      const snapshot = engine.snapshot()
      const batch = engine.batch()
      batch.put('a', bytes('new'))
      batch.delete('b')
      batch.put('c', bytes('new'))
      await batch.write({ isDurable: true })
      expect(engine.get('a', snapshot)).toEqual(bytes('value of a'))
      expect(engine.get('b', snapshot)).toEqual(bytes('value of b'))
      expect(engine.get('c', snapshot)).toBeUndefined()
      expect(await keysOf(engine, {}, { snapshot })).toEqual(['a', 'b'])
      expect(await keysOf(engine, {})).toEqual(['a', 'c'])
      await snapshot.close()
      expect(engine.get('a')).toEqual(bytes('new'))
    })

    it('a storage engine holds several snapshots of different times', async () => {
      const snapshots = []
      for (let i = 0; i < 600; i++) {
        await put(engine, `k${String(i).padStart(3, '0')}`)
        if (i % 200 === 199) snapshots.push(engine.snapshot())
      }
      const counts = await Promise.all(
        snapshots.map(async (one) => (await keysOf(engine, {}, { snapshot: one })).length),
      )
      expect(counts).toEqual([200, 400, 600])
      for (const one of snapshots) await one.close()
    })

    describe('large values of a storage engine', () => {
      const MIB = 1024 * 1024
      const large = (fill: number, size = 3 * MIB + 7): Buffer => Buffer.alloc(size, fill)
      const putAll = async (values: Readonly<Record<string, Buffer>>, isDurable = true): Promise<void> => {
        const batch = engine.batch()
        for (const [key, value] of Object.entries(values)) batch.put(key, value)
        await batch.write({ isDurable })
      }
      /** Compares buffers. `toEqual` is slow for many bytes. */
      const holds = (found: Buffer | undefined, expected: Buffer): boolean => found?.equals(expected) ?? false

      it('a storage engine stores large values', async () => {
        const values = { a: large(1), b: Buffer.from('small'), ['é'.repeat(20_000)]: large(2, MIB) }
        await putAll(values)
        for (const [key, value] of Object.entries(values)) {
          expect(holds(engine.get(key), value)).toBe(true)
          expect(engine.has(key)).toBe(true)
        }
        expect(engine.has('c')).toBe(false)
      })

      it('a storage engine keeps large values after a close and after a reopen', async () => {
        await putAll({ a: large(1), b: large(2) }, false)
        await putAll({ b: large(3) })
        await engine.reopen()
        expect(holds(engine.get('b'), large(3))).toBe(true)
        await engine.close()
        engine = await fixture.open()
        expect(holds(engine.get('a'), large(1))).toBe(true)
        expect(holds(engine.get('b'), large(3))).toBe(true)
      })

      it('a storage engine replaces and deletes large values', async () => {
        await putAll({ a: large(1), b: large(2), c: large(3) })
        const batch = engine.batch()
        batch.put('a', large(4))
        batch.put('a', bytes('small'))
        batch.put('b', large(5))
        batch.put('b', large(6))
        batch.put('d', large(7))
        batch.delete('d')
        batch.delete('c')
        await batch.write({ isDurable: true })
        expect(engine.get('a')).toEqual(bytes('small'))
        expect(holds(engine.get('b'), large(6))).toBe(true)
        expect(await keysOf(engine, {})).toEqual(['a', 'b'])
      })

      it('snapshots and scans of a storage engine show large values as of their start', async () => {
        await putAll({ a: large(1), b: large(2), c: bytes('3') })
        const snapshot = engine.snapshot()
        const scan = engine.scan({}, { chunkBytes: 1000 })[Symbol.asyncIterator]()
        const first = await scan.next()
        await putAll({ a: bytes('1'), b: bytes('2') })
        await putAll({ c: large(3) })
        expect(holds(engine.get('a', snapshot), large(1))).toBe(true)
        const found = [...(first.value ?? [])]
        for (let next = await scan.next(); !next.done; next = await scan.next()) found.push(...next.value)
        expect(found.map(({ key, value }) => `${key} ${value.length}`)).toEqual([
          `a ${large(1).length}`,
          `b ${large(2).length}`,
          'c 1',
        ])
        expect(holds(engine.get('b', snapshot), large(2))).toBe(true)
        await snapshot.close()
        expect(engine.get('a')).toEqual(bytes('1'))
        expect(holds(engine.get('c'), large(3))).toBe(true)
      })
    })

    it('a storage engine keeps its data after it is closed and opened', async () => {
      await put(engine, 'a', 'b')
      await engine.close()
      expect(() => engine.get('a')).toThrow()
      engine = await fixture.open()
      expect(await keysOf(engine, {})).toEqual(['a', 'b'])
    })

    it('a storage engine can be opened again in place', async () => {
      await put(engine, 'a')
      await engine.reopen()
      await put(engine, 'b')
      expect(await keysOf(engine, {})).toEqual(['a', 'b'])
    })

    it('a storage engine rejects a second opening with the reason', async () => {
      await expect(fixture.open()).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining('in use'),
      })
    })

    it('a storage engine reports its size', async () => {
      const batch = engine.batch()
      batch.put('a', Buffer.alloc(100_000, 1))
      await batch.write({ isDurable: true })
      expect(await engine.sizeBytes()).toBeGreaterThanOrEqual(100_000)
    })
  })
}
