import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LIMITS } from '../../../src/base/limits.js'
import { createSeededRandom } from '../../../src/base/random.js'
import { nextTurn } from '../../../src/base/turn.js'
import type { EngineBatch } from '../../../src/storage/engine/engine.js'
import { LARGE_VALUE_BYTES } from '../../../src/storage/engine/large-values.js'
import { LevelEngine } from '../../../src/storage/engine/level-engine.js'
import { ABSENT, RecentValues } from '../../../src/storage/engine/recent-values.js'

const bytes = (text: string): Buffer => Buffer.from(text)

describe('RecentValues', () => {
  it('a batch forgets the recent values that it writes, and they stay out until it ends', () => {
    const recent = new RecentValues()
    recent.add('da', bytes('1'))
    recent.add('db', bytes('1'))
    const ended = recent.begin(['da'])
    recent.add('da', bytes('2'))
    expect([recent.find('da'), recent.find('db')]).toEqual([undefined, bytes('1')])
    ended()
    recent.add('da', bytes('3'))
    expect(recent.find('da')).toEqual(bytes('3'))
  })

  it('a recent value stays out until the last of several batches ends', () => {
    const recent = new RecentValues()
    const first = recent.begin(['da'])
    const second = recent.begin(['da', 'da'])
    second()
    recent.add('da', bytes('1'))
    expect(recent.find('da')).toBeUndefined()
    first()
    recent.add('da', bytes('1'))
    expect(recent.find('da')).toEqual(bytes('1'))
  })

  it('recent values distinguish absent keys from unknown keys, and forget both alike', () => {
    const recent = new RecentValues()
    recent.add('da', undefined)
    expect([recent.find('da'), recent.find('db')]).toEqual([ABSENT, undefined])
    const ended = recent.begin(['da'])
    recent.add('da', undefined)
    expect(recent.find('da')).toBeUndefined()
    ended()
    recent.add('da', bytes('1'))
    expect(recent.find('da')).toEqual(bytes('1'))
    recent.clear()
    recent.add('da', undefined)
    recent.clear()
    expect(recent.find('da')).toBeUndefined()
  })

  it('absent keys do not evict recent values', () => {
    const recent = new RecentValues()
    recent.add('da', bytes('1'))
    for (let at = 0; at < 4 * LIMITS.recentValuesMax; at++) recent.add(`dguess${at}`, undefined)
    expect(recent.find('da')).toEqual(bytes('1'))
    const known = Array.from({ length: 4 * LIMITS.recentValuesMax }, (_, at) => recent.find(`dguess${at}`)).filter(
      Boolean,
    )
    expect(known.length).toBeLessThanOrEqual(2 * LIMITS.recentAbsencesMax)
  })

  it('a batch over the maximum number of keys forgets all recent values until it ends', () => {
    const recent = new RecentValues()
    recent.add('da', bytes('1'))
    recent.add('db', undefined)
    const ended = recent.begin(Array.from({ length: LIMITS.recentValuesMax + 1 }, (_, at) => `dcopied${at}`))
    recent.add('da', bytes('1'))
    recent.add('dcopied7', undefined)
    expect(['da', 'db', 'dcopied7'].map((key) => recent.find(key))).toEqual([undefined, undefined, undefined])
    ended()
    recent.add('dcopied7', bytes('1'))
    expect(recent.find('dcopied7')).toEqual(bytes('1'))
  })

  it('recent values are limited in number and size, and contain only data keys', () => {
    const recent = new RecentValues()
    recent.add('w00000000000001', bytes('frame'))
    recent.add('dlarge', Buffer.alloc(LIMITS.recentValueBytesMax + 1))
    expect([recent.find('w00000000000001'), recent.find('dlarge')]).toEqual([undefined, undefined])
    const long = `d${'x'.repeat(LIMITS.recentValueBytesMax)}`
    recent.add(long, undefined)
    expect(recent.find(long)).toBeUndefined()
    recent.add(long, bytes('1'))
    expect(recent.find(long)).toBeUndefined()
    const keys = Array.from({ length: 5 * LIMITS.recentValuesMax }, (_, at) => `d${at}`)
    for (const key of keys) recent.add(key, bytes(key))
    expect(keys.filter((key) => recent.find(key)).length).toBeLessThanOrEqual(2 * LIMITS.recentValuesMax)
  })
})

describe('an engine with recent values', () => {
  const seed = Date.now() % 2 ** 31
  console.info(`recent-values: seed ${seed}`)
  let directory: string
  let engine: LevelEngine
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'recent-values-'))
    engine = await LevelEngine.open({ directory, createIfMissing: true })
  })
  afterEach(async () => {
    await engine.close()
    await rm(directory, { recursive: true })
  })

  /** Runs random reads while the batch is being written. */
  const writeWhile = async (batch: EngineBatch, read: () => void): Promise<void> => {
    let isDone = false
    const written = batch.write({ isDurable: false }).finally(() => {
      isDone = true
    })
    while (!isDone) {
      read()
      await nextTurn()
    }
    await written
  }

  it('reads of an engine with recent values never go back in time, including deletions', async () => {
    const random = createSeededRandom(seed)
    const chance = (below: number): number => random.bytes(1).readUInt8() % below
    const stored = new Map<string, string | undefined>()
    const read = (key: string) => {
      const found = engine.get(key)?.toString()
      return chance(2) === 0 && engine.has(key) !== (found !== undefined) ? 'another answer of has' : found
    }
    for (let version = 1; version <= 400; version++) {
      const batch = engine.batch()
      const next = new Map(stored)
      for (const key of Array.from({ length: 1 + chance(3) }, () => `d${chance(6)}`)) {
        const value = chance(3) === 0 ? undefined : `${version}`
        next.set(key, value)
        if (value === undefined) batch.delete(key)
        else batch.put(key, bytes(value))
      }
      await writeWhile(batch, () => {
        const key = `d${chance(6)}`
        const found = engine.get(key)?.toString()
        expect([stored.get(key), next.get(key)]).toContain(found)
        if (found === next.get(key)) stored.set(key, found)
      })
      for (const [key, value] of next) {
        expect(read(key)).toBe(value)
        stored.set(key, value)
      }
    }
  })

  it('reads of an engine with recent values show a transaction completely or not at all', async () => {
    const random = createSeededRandom(`${seed} pairs`)
    for (let version = 1; version <= 400; version++) {
      const batch = engine.batch()
      batch.put('da', bytes(`${version}`))
      batch.put('db', bytes(`${version}`))
      await writeWhile(batch, () => {
        const order = random.bytes(1).readUInt8() % 2 === 0
        // The value read first is never newer than the value read second.
        const first = Number(engine.get(order ? 'da' : 'db')?.toString() ?? 0)
        expect(Number(engine.get(order ? 'db' : 'da')?.toString() ?? 0)).toBeGreaterThanOrEqual(first)
      })
    }
  })

  it('an engine with recent values agrees in has and get, including large values', async () => {
    const large = Buffer.alloc(LARGE_VALUE_BYTES, 1)
    const batch = engine.batch()
    batch.put('da', bytes('1'))
    batch.put('dlarge', large)
    await batch.write({ isDurable: false })
    for (let round = 0; round < 2; round++) {
      expect(['da', 'dlarge', 'dnone'].map((key) => engine.has(key))).toEqual([true, true, false])
      expect(engine.get('da')).toEqual(bytes('1'))
      expect(engine.get('dlarge')?.equals(large)).toBe(true)
    }
  })

  it('an engine with recent values respects snapshots, deletions and a reopened engine', async () => {
    const put = async (text: string) => {
      const batch = engine.batch()
      batch.put('da', bytes(text))
      await batch.write({ isDurable: false })
    }
    await put('1')
    expect(engine.get('da')).toEqual(bytes('1'))
    const snapshot = engine.snapshot()
    await put('2')
    expect([engine.get('da'), engine.get('da', snapshot)]).toEqual([bytes('2'), bytes('1')])
    expect(engine.get('da')).toEqual(bytes('2'))
    await snapshot.close()
    await engine.reopen()
    expect(engine.get('da')).toEqual(bytes('2'))
    const batch = engine.batch()
    batch.delete('da')
    await batch.write({ isDurable: false })
    expect(engine.get('da')).toBeUndefined()
  })
})
