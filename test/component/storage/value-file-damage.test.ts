import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { silentLog } from '../../../src/base/log.js'
import { openStore } from '../../support/open-store.js'
import { LogicalError } from '../../../src/logical/errors.js'
import { checkAfterCrash } from '../../../src/server/data/open-store.js'
import { adoptGeneration } from '../../../src/storage/generations/adopt.js'
import { openGenerations } from '../../../src/storage/engine/generations.js'
import { LARGE_VALUE_BYTES } from '../../../src/storage/engine/large-values.js'
import type { Store } from '../../../src/storage/store/store.js'
import { bytes } from '../../unit/storage/fixture.js'

/** Damaged files of large values: adoption of the rest, and wrong entries in place of a file. */
let path: string
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'understudy-values-'))
})
afterEach(() => rm(path, { recursive: true, force: true }))

type ProcessEnd = 'killed' | 'stopped'

const OPTIONS = { walRetentionEntries: 16, walRetentionBytes: 1 << 26 }

/** Starts the store and runs `work` on it. Rejects if the start fails. */
const start = async <T>(end: ProcessEnd, work: (store: Store) => T | Promise<T>): Promise<T> => {
  const source = await openGenerations(path, silentLog)
  let store: Store | undefined
  try {
    store = await openStore({ engine: source.engine, ...OPTIONS })
    await checkAfterCrash(source, store, silentLog)
    return await work(store)
  } finally {
    if (end === 'killed') source.die()
    await store?.close()
    await source.close()
  }
}

const large = (fill: number): Buffer => Buffer.alloc(LARGE_VALUE_BYTES, fill)
const file = (number: number): string => join(path, 'generation-1', `00000${number}.value`)

/** The value of key `b` and its log frame have separate files. The file of the value is written first. */
const OF_DATA = 1
const OF_LOG = 2

/** Writes three commits. The second one is large. */
const write = (end: ProcessEnd): Promise<void> =>
  start(end, async (store) => {
    await store.write((tx) => tx.put('logical/mount/a', bytes('a')))
    await store.write((tx) => tx.put('logical/mount/b', large(1)))
    await store.write((tx) => tx.put('logical/mount/c', bytes('c')))
    expect((await readdir(join(path, 'generation-1'))).filter((name) => name.endsWith('.value'))).toHaveLength(2)
  })

const requireRefused = async (...texts: readonly string[]): Promise<void> => {
  for (let times = 0; times < 2; times++) {
    const error = await start('killed', () => undefined).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(LogicalError)
    for (const text of texts) expect(error).toMatchObject({ message: expect.stringContaining(text) })
  }
}

const adopt = (isForced: boolean) => adoptGeneration(path, 1, { isForced })

describe.each<ProcessEnd>(['killed', 'stopped'])('value files of a server that was %s', (end) => {
  it('a missing value file of a log frame is adopted by force: the log is cut behind it, and no data is lost', async () => {
    await write(end)
    await rm(file(OF_LOG))
    await requireRefused('storage adopt', '--force')
    // Without force, sealed values are not examined.
    const refused = end === 'killed' ? /up to index 2.*Merkle.*--force/s : /--force/
    await expect(adopt(false)).rejects.toMatchObject({ message: expect.stringMatching(refused) })
    await requireRefused('--force')
    expect(await adopt(true)).toEqual({ generation: 1, lastIndex: 3, others: [], damaged: [], logDiscardedUpTo: 2 })
    for (const next of ['killed', 'stopped', 'killed'] as const) {
      await start(next, async (store) => {
        expect([store.firstIndex, store.position.index >= 3]).toEqual([3, true])
        const [a, b, c] = ['a', 'b', 'c'].map((name) => store.get(`logical/mount/${name}`))
        expect([a, b?.equals(large(1)), c]).toEqual([bytes('a'), true, bytes('c')])
        expect(await store.examine()).toMatchObject({ damage: [] })
        await store.write((tx) => tx.put('logical/mount/d', bytes('d')))
      })
    }
  })

  it('a missing value file of the last log frame is adopted by force', async () => {
    await start(end, (store) => store.write((tx) => tx.put('logical/mount/b', large(1))))
    await rm(file(OF_LOG))
    await requireRefused('storage adopt', '--force')
    expect(await adopt(true)).toMatchObject({ lastIndex: 1, logDiscardedUpTo: 1, damaged: [] })
    await start('killed', async (store) => {
      await store.write((tx) => tx.put('logical/mount/c', bytes('c')))
      expect(store.position.index).toBe(2)
      expect((await store.examine()).damage).toEqual([])
    })
    expect(await start('killed', (store) => store.get('logical/mount/b')?.equals(large(1)))).toBe(true)
  })

  it('a missing value file of data prevents the start, and after adoption it fails reads of its value', async () => {
    await write(end)
    const aside = join(path, 'aside')
    await rename(file(OF_DATA), aside)
    await requireRefused('storage adopt')
    await expect(adopt(false)).rejects.toMatchObject({ message: expect.stringContaining('--force') })
    expect(await adopt(true)).toMatchObject({ damaged: ['000001.value (missing)'], logDiscardedUpTo: undefined })
    await start('stopped', (store) => {
      expect(() => store.get('logical/mount/b')).toThrow(/the data is damaged: .*000001\.value \(missing\)/)
      expect(store.get('logical/mount/c')).toEqual(bytes('c'))
    })
    await rename(aside, file(OF_DATA))
    expect(await start('killed', (store) => store.get('logical/mount/b')?.equals(large(1)))).toBe(true)
  })

  it('a damaged value file of data is adopted by force, and the rest is served', async () => {
    await write(end)
    const whole = await readFile(file(OF_DATA))
    whole.writeUInt8(whole.readUInt8(5) ^ 1, 5)
    await writeFile(file(OF_DATA), whole)
    await requireRefused('000001.value', 'storage adopt --force')
    expect(await adopt(true)).toMatchObject({ damaged: ['000001.value'], logDiscardedUpTo: undefined })
    expect(await start('stopped', (store) => store.get('logical/mount/c'))).toEqual(bytes('c'))
  })
})

it('a rejected adoption leaves the start rejected', async () => {
  await write('killed')
  const whole = await readFile(file(OF_DATA))
  whole.writeUInt8(whole.readUInt8(5000) ^ 1, 5000)
  await writeFile(file(OF_DATA), whole)
  await expect(adopt(false)).rejects.toMatchObject({ message: expect.stringContaining('--force') })
  await requireRefused('000001.value', 'storage adopt --force')
})

const IN_PLACE: readonly (readonly [string, (at: string) => unknown])[] = [
  ['a named pipe', (at) => execFileSync('mkfifo', [at])],
  ['a directory', (at) => mkdir(at)],
  ['a symbolic link', (at) => symlink('/dev/zero', at)],
]

describe.each(IN_PLACE)('%s in place of a value file', (kind, make) => {
  const replace = async (number: number): Promise<void> => {
    await rename(file(number), join(path, `aside-${number}`))
    await make(file(number))
  }

  it.each<readonly [string, number, ProcessEnd]>([
    ['of data', OF_DATA, 'killed'],
    ['of data', OF_DATA, 'stopped'],
    ['of the log', OF_LOG, 'killed'],
    ['of the log', OF_LOG, 'stopped'],
  ])('a wrong entry in place of a value file %s (%d, %s) prevents the start', async (_what, number, end) => {
    await write(end)
    await replace(number)
    await requireRefused(`00000${number}.value`, kind, 'storage adopt')
    // After the original file is restored, the data is complete.
    await rm(file(number), { recursive: true })
    await rename(join(path, `aside-${number}`), file(number))
    expect(await start('killed', (store) => store.get('logical/mount/b')?.equals(large(1)))).toBe(true)
  })

  it('a forced adoption moves a wrong entry in place of a value file aside and serves the rest', async () => {
    await write('killed')
    await rm(file(OF_DATA))
    await make(file(OF_DATA))
    expect(await adopt(true)).toMatchObject({ damaged: [`000001.value (${kind})`] })
    for (let times = 0; times < 2; times++) {
      expect(await start('stopped', (store) => store.get('logical/mount/c'))).toEqual(bytes('c'))
    }
    expect(await readdir(path)).toContain('generation-1.aside-000001.value')
  })

  it('a wrong entry in place of a value file fails reads of its value and is reported at the next start', async () => {
    await write('killed')
    await start('stopped', async (store) => {
      await replace(OF_DATA)
      expect(() => store.get('logical/mount/b')).toThrow(`000001.value (${kind})`)
      expect(store.get('logical/mount/a')).toEqual(bytes('a'))
    })
    await requireRefused('000001.value', kind)
  })

  it('a start leaves an entry alone if no value has its name', async () => {
    await write('killed')
    await make(file(7))
    for (const end of ['stopped', 'killed', 'killed'] as const) {
      expect(await start(end, (store) => store.get('logical/mount/b')?.equals(large(1)))).toBe(true)
    }
    expect(await readdir(join(path, 'generation-1'))).toContain('000007.value')
  })

  it('a wrong entry in place of a future value file fails only the write of that value', async () => {
    await start('killed', async (store) => {
      await make(file(1))
      const put = () => store.write((tx) => tx.put('logical/mount/b', large(1)))
      await expect(put()).rejects.toMatchObject({ code: 'unavailable' })
      await put()
      expect(store.get('logical/mount/b')?.equals(large(1))).toBe(true)
    })
  })
})

it('a device in place of a sealed value file prevents the start and is not read', async () => {
  await write('stopped')
  await rm(file(OF_LOG))
  await symlink('/dev/zero', file(OF_LOG))
  await requireRefused('000002.value')
  await rm(file(OF_LOG))
  await writeFile(file(OF_LOG), '')
  await requireRefused('000002.value')
})
