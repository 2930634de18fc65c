import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { silentLog } from '../../../src/base/log.js'
import { BALLAST_BYTES } from '../../../src/storage/engine/ballast.js'
import type { Engine } from '../../../src/storage/engine/engine.js'
import { createSeededRandom } from '../../../src/base/random.js'
import { adoptGeneration } from '../../../src/storage/generations/adopt.js'
import { openGenerations } from '../../../src/storage/engine/generations.js'
import { LevelEngine } from '../../../src/storage/engine/level-engine.js'
import { STATE_KEY } from '../../../src/storage/keys/raw-keys.js'
import { freshState, serializeState } from '../../../src/storage/state/store-state.js'
import { bytes } from '../../unit/storage/fixture.js'
import { generationKinds } from '../../unit/storage/generation-kinds.js'

const put = async (engine: Engine, key: string, text: string): Promise<void> => {
  const batch = engine.batch()
  batch.put(key, bytes(text))
  await batch.write({ isDurable: true })
}

let path: string
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'understudy-generations-'))
})
afterEach(() => rm(path, { recursive: true, force: true }))

const directories = async (): Promise<string[]> => (await readdir(path)).filter((name) => name.startsWith('gen')).sort()

it('generation directories are readable only by their owner, including those of earlier versions', async () => {
  const modesOf = async (directory: string) => {
    const names = (await readdir(directory)).map((name) => join(directory, name))
    return new Set(
      (await Promise.all([directory, ...names].map(async (name) => (await stat(name)).mode & 0o077))).values(),
    )
  }
  const first = await openGenerations(path, silentLog)
  await put(first.engine, 'a', '1')
  await first.close()
  const [directory = ''] = (await directories()).map((name) => join(path, name))
  await chmod(directory, 0o755)
  for (const name of await readdir(directory)) await chmod(join(directory, name), 0o644)
  const before = process.umask(0o077)
  try {
    const again = await openGenerations(path, silentLog)
    expect(await modesOf(directory)).toEqual(new Set([0]))
    expect(again.engine.get('a')).toEqual(bytes('1'))
    await again.close()
  } finally {
    process.umask(before)
  }
})

const KINDS = generationKinds(() => path)

describe.each(KINDS)('generations %s', (_name, make) => {
  it('storage begins with the first generation and keeps its data', async () => {
    const { open } = make()
    const source = await open()
    expect(source.generation).toBe(1)
    await put(source.engine, 'a', '1')
    await source.close()
    const again = await open()
    expect([again.generation, again.engine.get('a')]).toEqual([1, bytes('1')])
    await again.close()
  })

  it('a prepared generation replaces the old one as a whole', async () => {
    const { open } = make()
    const source = await open()
    const old = source.engine
    await put(old, 'a', 'old')
    const fresh = await source.replace((engine) => put(engine, 'b', 'new'))
    expect(source.engine).toBe(fresh)
    expect([source.generation, fresh.get('a'), fresh.get('b')]).toEqual([2, undefined, bytes('new')])
    expect(() => old.get('a')).toThrow()
    await source.close()
    const again = await open()
    expect([again.generation, again.engine.get('a'), again.engine.get('b')]).toEqual([2, undefined, bytes('new')])
    await again.close()
  })

  it('a failed preparation leaves the generation unchanged', async () => {
    const { open } = make()
    const source = await open()
    await put(source.engine, 'a', '1')
    const failed = source.replace(async (fresh) => {
      await put(fresh, 'b', '1')
      throw new Error('no')
    })
    await expect(failed).rejects.toThrow('no')
    expect([source.generation, source.engine.get('a'), source.engine.get('b')]).toEqual([1, bytes('1'), undefined])
    await source.replace((fresh) => put(fresh, 'c', '1'))
    expect([source.engine.get('b'), source.engine.get('c')]).toEqual([undefined, bytes('1')])
    await source.close()
  })

  it('generations open only once at a time', async () => {
    const { open } = make()
    const source = await open()
    await expect(open()).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining('in use') })
    await source.close()
    await (await open()).close()
  })
})

describe('a data directory', () => {
  it('a data directory holds a pointer, the live generation and the ballast, and nothing of old generations', async () => {
    const source = await openGenerations(path, silentLog)
    await source.replace((fresh) => put(fresh, 'a', '1'))
    expect((await readdir(path)).sort()).toEqual(['ballast', 'generation-2', 'live'])
    expect(await readFile(join(path, 'live'), 'utf8')).toBe('generation-2\n')
    expect((await stat(join(path, 'ballast'))).size).toBe(BALLAST_BYTES)
    await source.close()
  })

  it('after a crash before the pointer moves, the old generation is live, and after it the new one', async () => {
    const source = await openGenerations(path, silentLog)
    await put(source.engine, 'a', 'old')
    await source.close()
    await writeFile(join(path, 'live'), 'generation-1\ncondemned generation-2\n')
    await mkdir(join(path, 'generation-2'))
    await writeFile(join(path, 'generation-2', 'CURRENT'), 'half made')
    await writeFile(join(path, 'live.tmp'), 'generation-2')
    const before = await openGenerations(path, silentLog)
    expect([before.generation, before.engine.get('a')]).toEqual([1, bytes('old')])
    expect(await directories()).toEqual(['generation-1'])
    await before.replace((fresh) => put(fresh, 'a', 'new'))
    await before.close()

    await writeFile(join(path, 'live'), 'generation-2\ncondemned generation-1\n')
    await mkdir(join(path, 'generation-1'))
    const after = await openGenerations(path, silentLog)
    expect([after.generation, after.engine.get('a')]).toEqual([2, bytes('new')])
    expect(await directories()).toEqual(['generation-2'])
    await after.close()
  })

  it('a data directory names the generation in use, even after the pointer moved with an error', async () => {
    const source = await openGenerations(path, silentLog)
    const movePointer = () => writeFile(join(path, 'live'), 'generation-2\n')
    const failed = source.replace(async () => {
      await movePointer()
      throw new Error('no')
    })
    await expect(failed).rejects.toThrow('no')
    expect([await readFile(join(path, 'live'), 'utf8'), await directories()]).toEqual([
      'generation-1\n',
      ['generation-1'],
    ])
    await movePointer()
    const successor = await source.begin()
    expect(await readFile(join(path, 'live'), 'utf8')).toBe('generation-1\ncondemned generation-2\n')
    await movePointer()
    await successor.abandon()
    await put(source.engine, 'a', '1')
    await source.close()
    const again = await openGenerations(path, silentLog)
    expect([again.generation, again.engine.get('a')]).toEqual([1, bytes('1')])
    await again.close()
  })

  it('a second process leaves a data directory in use unchanged', async () => {
    const source = await openGenerations(path, silentLog)
    let isSecondRefused = false
    await source.replace(async (fresh) => {
      await put(fresh, 'a', '1')
      isSecondRefused = await openGenerations(path, silentLog).then(
        () => false,
        () => true,
      )
    })
    expect([isSecondRefused, source.engine.get('a')]).toEqual([true, bytes('1')])
    await source.close()
  })

  it('a data directory without its live generation, its log or a valid pointer is rejected', async () => {
    const source = await openGenerations(path, silentLog)
    await put(source.engine, 'a', '1')
    await source.close()
    const generation = join(path, 'generation-1')
    for (const name of await readdir(generation)) if (name.endsWith('.log')) await rm(join(generation, name))
    await expect(openGenerations(path, silentLog)).rejects.toMatchObject({
      message: expect.stringContaining('lost its log'),
    })
    await rm(generation, { recursive: true })
    await expect(openGenerations(path, silentLog)).rejects.toMatchObject({
      message: expect.stringContaining('missing'),
    })
  })
})

const digestOf = async (): Promise<readonly string[]> => {
  const files = await readdir(path, { recursive: true, withFileTypes: true })
  const shown = files
    .filter((file) => file.isFile() && !/^(LOG(\.old)?|LOCK)$/.test(file.name))
    .map(async ({ parentPath, name }) => `${parentPath}/${name} ${await readFile(join(parentPath, name), 'base64')}`)
  return (await Promise.all(shown)).sort()
}

/** Creates a data directory with the live generation 2, and with generations 1 and 3, which are not condemned. */
const makeThree = async (): Promise<void> => {
  const source = await openGenerations(path, silentLog)
  await put(source.engine, STATE_KEY, 'old')
  await source.replace((fresh) => put(fresh, STATE_KEY, serializeState(freshState(createSeededRandom(1))).toString()))
  await source.close()
  for (const other of ['generation-1', 'generation-3']) await cp(join(path, 'generation-2'), join(path, other), COPY)
}
const COPY = { recursive: true }

describe('the file `live` of a data directory', () => {
  it.each([
    ['missing', undefined, 'is missing'],
    ['empty', '', 'does not say'],
    ['incomplete', 'generation-2', 'does not say'],
    ['incomplete in its second line', 'generation-2\ncondemned gener', 'does not say'],
    ['invalid', 'nonsense\n', 'does not say'],
    ['condemning the live generation', 'generation-2\ncondemned generation-2\n', 'does not say'],
    ['naming a missing generation', 'generation-7\n', 'generation-7, which is missing'],
    ['of an incomplete first start', 'none\ncondemned generation-1\n', 'no generation'],
  ])('a file `live` that is %s prevents the start and destroys nothing', async (_name, text, message) => {
    await makeThree()
    if (text === undefined) await rm(join(path, 'live'))
    else await writeFile(join(path, 'live'), text)
    const before = await digestOf()
    for (let times = 0; times < 2; times++) {
      await expect(openGenerations(path, silentLog)).rejects.toMatchObject({
        code: 'internal',
        message: expect.stringMatching(`${message}.*generation-1, generation-2, generation-3.*storage adopt`),
      })
    }
    expect(await digestOf()).toEqual(before)
    await expect(adoptGeneration(path, 9, { isForced: false })).rejects.toMatchObject({ code: 'invalid-request' })
    expect(await adoptGeneration(path, 2, { isForced: false })).toMatchObject({
      lastIndex: 0,
      others: [1, 3],
      damaged: [],
    })
    const source = await openGenerations(path, silentLog)
    expect([source.generation, await directories()]).toEqual([2, ['generation-1', 'generation-2', 'generation-3']])
    await source.close()
  })

  it('adoption rejects an open generation, and requires force for an empty one', async () => {
    const source = await openGenerations(path, silentLog)
    await cp(join(path, 'generation-1'), join(path, 'generation-2'), COPY)
    for (const number of [1, 2]) {
      await expect(adoptGeneration(path, number, { isForced: true })).rejects.toMatchObject({ code: 'unavailable' })
    }
    await source.close()
    await expect(adoptGeneration(path, 2, { isForced: false })).rejects.toMatchObject({
      message: expect.stringContaining('is empty'),
    })
    expect((await adoptGeneration(path, 2, { isForced: true })).lastIndex).toBeUndefined()
    expect(await readFile(join(path, 'live'), 'utf8')).toBe('generation-2\n')
  })

  it('a generation that is not condemned is kept by a start and by a new generation', async () => {
    await makeThree()
    const source = await openGenerations(path, silentLog)
    await (await source.begin()).abandon()
    await source.replace((fresh) => put(fresh, 'a', '4'))
    expect([source.generation, await directories()]).toEqual([4, ['generation-1', 'generation-3', 'generation-4']])
    await source.close()
  })
})

/** All states of the directory after a crash, in the order of the steps. Incomplete files contain only text. */
const FIRST = 'none\ncondemned generation-1\n'
const CRASHES: readonly (readonly [string, string | undefined, readonly string[], readonly string[], 1 | 2])[] = [
  ['before the first step', undefined, [], [], 1],
  ['before the first generation exists', FIRST, [], [], 1],
  ['while it is created', FIRST, [], ['generation-1'], 1],
  ['before it is live', FIRST, ['generation-1'], [], 1],
  ['after it is live', 'generation-1\n', ['generation-1'], [], 1],
  ['before a second one exists', 'generation-1\ncondemned generation-2\n', ['generation-1'], [], 1],
  ['while it is created', 'generation-1\ncondemned generation-2\n', ['generation-1'], ['generation-2'], 1],
  ['before it is live', 'generation-1\ncondemned generation-2\n', ['generation-1', 'generation-2'], [], 1],
  ['after it is live', 'generation-2\ncondemned generation-1\n', ['generation-1', 'generation-2'], [], 2],
  ['while the first one is destroyed', 'generation-2\ncondemned generation-1\n', ['generation-2'], ['generation-1'], 2],
  ['after the first one is destroyed', 'generation-2\ncondemned generation-1\n', ['generation-2'], [], 2],
  ['at the end', 'generation-2\n', ['generation-2'], [], 2],
]

describe('a crash of a generation change', () => {
  it.each(CRASHES)(
    'a data directory starts after a crash %s, with the record %j',
    async (_name, text, whole, half, live) => {
      for (const name of whole) {
        const engine = await LevelEngine.open({ directory: join(path, name), createIfMissing: true })
        await put(engine, 'of', name)
        await engine.discard()
      }
      for (const name of half) {
        await mkdir(join(path, name))
        await writeFile(join(path, name, 'MANIFEST-000001'), 'half')
      }
      if (text !== undefined) await writeFile(join(path, 'live'), text)
      const source = await openGenerations(path, silentLog)
      expect([source.generation, await directories()]).toEqual([live, [`generation-${live}`]])
      expect(source.engine.get('of')).toEqual(whole.length > 0 ? bytes(`generation-${live}`) : undefined)
      expect(await readFile(join(path, 'live'), 'utf8')).toBe(`generation-${live}\n`)
      await source.close()
    },
  )
})
