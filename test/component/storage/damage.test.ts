import { cp, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { silentLog } from '../../../src/base/log.js'
import { openStore as openStoreOn } from '../../support/open-store.js'
import { createSeededRandom, type Random } from '../../../src/base/random.js'
import { LogicalError } from '../../../src/logical/errors.js'
import { adoptStorage, explain } from '../../../src/server/data/storage-inspection.js'
import { checkAfterCrash } from '../../../src/server/data/open-store.js'
import { adoptGeneration } from '../../../src/storage/generations/adopt.js'
import type { EngineSource } from '../../../src/storage/engine/engine-source.js'
import { openGenerations } from '../../../src/storage/engine/generations.js'
import type { Store } from '../../../src/storage/store/store.js'

/** Damages the data of a killed process in many ways. Either all acknowledged writes are served, or none. */
let root: string
let whole: string
let random: Random
const written = new Map<string, string>()
let lastIndex = 0

const openStore = (source: EngineSource): Promise<Store> =>
  openStoreOn({ engine: source.engine, walRetentionEntries: 16, walRetentionBytes: 1 << 20 })

/** Writes 60 keys and kills the process. */
const live = async (name: string): Promise<void> => {
  const source = await openGenerations(whole, silentLog)
  const store = await openStore(source)
  for (let i = 0; i < 60; i++) {
    const key = `logical/mount/${name}/${i}`
    const value = random.bytes(3000)
    await store.write((tx) => tx.put(key, value))
    written.set(key, value.toString('base64'))
  }
  lastIndex = store.position.index
  source.die()
  await source.close()
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'understudy-damage-'))
  whole = join(root, 'whole')
  const seed = Math.trunc(performance.now() * 1000)
  console.log(`seed ${seed}`)
  random = createSeededRandom(seed)
  // Each start converts the previous log into a table.
  for (const name of ['first', 'second', 'third']) await live(name)
})

afterAll(() => rm(root, { recursive: true, force: true }))

type Outcome = 'served whole' | `refused: ${string}` | `served ${string}`

const start = async (path: string): Promise<Outcome> => {
  let source: EngineSource | undefined
  try {
    source = await openGenerations(path, silentLog)
    const store = await openStore(source)
    await checkAfterCrash(source, store, silentLog)
    const lost = [...written].filter(([key, value]) => store.get(key)?.toString('base64') !== value).length
    if (lost > 0 || store.position.index < lastIndex) {
      return `served without ${lost} keys, to index ${store.position.index} of ${lastIndex}`
    }
    return 'served whole'
  } catch (error) {
    if (error instanceof LogicalError && error.code === 'internal') return `refused: ${error.message}`
    throw error
  } finally {
    source?.die()
    await source?.close()
  }
}

/** Damages one file of a copy and starts it twice. The first start must not hide the damage from the second one. */
const outcomes = async (damage: (directory: string) => Promise<unknown>): Promise<Outcome[]> => {
  const path = await mkdtemp(join(root, 'copy-'))
  await cp(whole, path, { recursive: true })
  await damage(join(path, 'generation-1'))
  const found = [await start(path), await start(path)]
  await rm(path, { recursive: true })
  return found
}

const files = async (pattern: RegExp): Promise<string[]> =>
  (await readdir(join(whole, 'generation-1'))).filter((name) => pattern.test(name))

const cut = (pattern: RegExp, lengthOf: (size: number) => number) => async (directory: string) => {
  const [name = ''] = await files(pattern)
  const file = join(directory, name)
  await truncate(file, lengthOf((await readFile(file)).length))
}

const flip = async (file: string, at: number): Promise<void> => {
  const bytes = await readFile(file)
  bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << (random.bytes(1).readUInt8() % 8)), at)
  await writeFile(file, bytes)
}

const expectSafe = (found: readonly Outcome[], what: string) => {
  for (const outcome of found) expect(outcome, what).toMatch(/^(served whole|refused: .+)$/s)
}

const LOG = /^\d+\.log$/
const MANIFEST = /^MANIFEST-/

describe('the data of a killed process', () => {
  it('a start after a kill serves all acknowledged writes', async () => {
    expect(await outcomes(async () => undefined)).toEqual(['served whole', 'served whole'])
  })

  it('a start after a kill ignores the incomplete table of a compaction', async () => {
    const tables = await files(/\.ldb$/)
    const bytes = await readFile(join(whole, 'generation-1', tables[0] ?? ''))
    for (const length of [0, 1, bytes.length >> 1, bytes.length - 1]) {
      const found = await outcomes((directory) => writeFile(join(directory, '999999.ldb'), bytes.subarray(0, length)))
      expect(found, `${length} bytes`).toEqual(['served whole', 'served whole'])
    }
  })

  it.each<[string, RegExp, (size: number) => number]>([
    ['the log cut to nothing', LOG, () => 0],
    ['the log cut to 500 bytes', LOG, () => 500],
    ['the log cut to half', LOG, (size) => size >> 1],
    ['the log cut by a byte', LOG, (size) => size - 1],
    ['the log cut by its last batch', LOG, (size) => size - 7000],
  ])('a start after a kill fails with %s, each time, and names storage adopt', async (_name, pattern, lengthOf) => {
    for (const outcome of await outcomes(cut(pattern, lengthOf))) {
      expect(outcome).toMatch(/^refused: the data has lost its latest commits.*storage adopt/)
    }
  })

  it.each<[string, RegExp, (size: number) => number]>([
    ['CURRENT cut to nothing', /^CURRENT$/, () => 0],
    ['MANIFEST cut to nothing', MANIFEST, () => 0],
    ['MANIFEST cut to half', MANIFEST, (size) => size >> 1],
    ['MANIFEST cut by a byte', MANIFEST, (size) => size - 1],
    ['a table cut to half', /\.ldb$/, (size) => size >> 1],
    ['the position cut to nothing', /^acknowledged$/, () => 0],
  ])('a start after a kill serves all writes or none with %s', async (name, pattern, lengthOf) => {
    expectSafe(await outcomes(cut(pattern, lengthOf)), name)
  })

  it('a start after a kill serves all writes or none if any file is missing', async () => {
    for (const name of await files(/./)) {
      expectSafe(await outcomes((directory) => rm(join(directory, name))), name)
    }
  })

  it('a start after a kill serves all writes or none with a wrong bit in a table', async () => {
    for (const name of await files(/\.ldb$/)) {
      const { length } = await readFile(join(whole, 'generation-1', name))
      for (let times = 0; times < 12; times++) {
        const at = random.bytes(4).readUInt32BE() % length
        const found = await outcomes((directory) => flip(join(directory, name), at))
        expectSafe(found, `${name} byte ${at}`)
      }
    }
  })

  it('a start after a kill reports a wrong bit in a table even if the manifest is damaged', async () => {
    const [table = ''] = await files(/\.ldb$/)
    const [manifest = ''] = await files(MANIFEST)
    const found = await outcomes(async (directory) => {
      await flip(join(directory, table), 10)
      await flip(join(directory, manifest), 20)
    })
    for (const outcome of found) expect(outcome).toMatch(/^refused: the data is damaged.*\.ldb/)
  })

  it('a start after a kill serves all writes or none with a wrong bit in another file', async () => {
    for (const name of await files(/^(\d+\.log|MANIFEST-\d+|CURRENT|acknowledged)$/)) {
      const { length } = await readFile(join(whole, 'generation-1', name))
      for (let times = 0; times < 12; times++) {
        const at = random.bytes(4).readUInt32BE() % length
        const found = await outcomes((directory) => flip(join(directory, name), at))
        expectSafe(found, `${name} byte ${at}`)
      }
    }
  })

  it('storage adopt accepts the remaining data', async () => {
    const path = await mkdtemp(join(root, 'copy-'))
    await cp(whole, path, { recursive: true })
    await cut(LOG, (size) => size >> 1)(join(path, 'generation-1'))
    expect(await start(path)).toMatch(/^refused/)
    const adopted = await adoptGeneration(path, 1, { isForced: false })
    expect(adopted.lastIndex).toBeLessThan(lastIndex)
    expect(await start(path)).toMatch(/^served without \d+ keys/)
  })
  it.each<[string, (file: string) => Promise<void>]>([
    ['cut to half', async (file) => truncate(file, (await readFile(file)).length >> 1)],
    ['removed', (file) => rm(file)],
  ])('storage adopt fails with a table that was %s, and the error suggests a repair', async (_name, damage) => {
    const path = await mkdtemp(join(root, 'copy-'))
    await cp(whole, path, { recursive: true })
    const tables = await files(/\.ldb$/)
    for (const name of tables) await damage(join(path, 'generation-1', name))
    const failure = await adoptStorage(path, 1, true).catch(explain)
    expect(failure).toBeInstanceOf(LogicalError)
    expect(String(failure)).toMatch(
      /(IO error|Corruption): .+\. Restore the files, or promote a secondary in its place$/s,
    )
  })
})
