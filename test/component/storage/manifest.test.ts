import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Level } from 'level'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readLiveTables } from '../../../src/storage/engine/manifest.js'

let directory: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'understudy-manifest-'))
})

afterEach(() => rm(directory, { recursive: true, force: true }))

const tablesOnDisk = async (): Promise<number[]> =>
  (await readdir(directory)).flatMap((name) => (/\.ldb$/.test(name) ? [Number.parseInt(name, 10)] : [])).sort()

const liveTables = async (): Promise<number[] | undefined> => {
  const live = await readLiveTables(directory)
  return live && [...live].sort()
}

/** The manifest contains the first and last key of each table. With keys of this length, it soon exceeds one block. */
const LONG = 'k'.repeat(5000)

/** The native binding has methods that the browser binding lacks. */
type Native = Level<string, string> & { compactRange: (start: string, end: string) => Promise<void> }

/** Writes and merges tables in several rounds. */
const rewriteTables = async (rounds: number): Promise<void> => {
  const db = new Level<string, string>(directory, { compression: false }) as Native
  for (let round = 0; round < rounds; round++) {
    for (let n = 0; n < 20; n++) await db.put(`${LONG}-${n}-${round % 3}`, `${round}`)
    await db.compactRange('a', 'z')
  }
  // LevelDB deletes unused tables when it is closed and when it is opened.
  await db.close()
}

const manifestName = async (): Promise<string> => (await readFile(join(directory, 'CURRENT'), 'utf8')).trim()

it('readLiveTables returns the tables that LevelDB uses', async () => {
  for (const rounds of [1, 2, 12]) {
    await rewriteTables(rounds)
    const { length } = await readFile(join(directory, await manifestName()))
    if (rounds === 12) expect(length).toBeGreaterThan(64 * 1024)
    expect(await liveTables()).toEqual(await tablesOnDisk())
  }
})

it('readLiveTables ignores an incomplete record at the end of the manifest', async () => {
  await rewriteTables(3)
  const manifest = join(directory, await manifestName())
  const bytes = await readFile(manifest)
  for (let length = bytes.length - 1; length > bytes.length - 200; length--) {
    await writeFile(manifest, bytes.subarray(0, length))
    expect(await readLiveTables(directory), `${length} of ${bytes.length} bytes`).toBeDefined()
  }
})

it('readLiveTables returns undefined for a damaged manifest', async () => {
  await rewriteTables(3)
  const manifest = join(directory, await manifestName())
  const bytes = await readFile(manifest)
  for (const at of [0, 6, 8, 30]) {
    const damaged = Buffer.from(bytes)
    damaged.writeUInt8(damaged.readUInt8(at) ^ 1, at)
    await writeFile(manifest, damaged)
    expect(await readLiveTables(directory), `byte ${at}`).toBeUndefined()
  }
})

it('readLiveTables returns undefined for a directory without a database', async () => {
  expect(await readLiveTables(directory)).toBeUndefined()
  await writeFile(join(directory, 'CURRENT'), '')
  expect(await readLiveTables(directory)).toBeUndefined()
})
