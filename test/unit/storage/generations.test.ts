import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { silentLog } from '../../../src/base/log.js'
import { BALLAST_BYTES } from '../../../src/storage/engine/ballast.js'
import type { Engine } from '../../../src/storage/engine/engine.js'
import { openGenerations } from '../../../src/storage/engine/generations.js'
import { bytes } from './fixture.js'
import { generationKinds } from './generation-kinds.js'

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

const KINDS = generationKinds(() => path)

describe.each(KINDS)('generations %s', (_name, make) => {
  it('begin with the first and hold their data', async () => {
    const { open } = make()
    const source = await open()
    expect(source.generation).toBe(1)
    await put(source.engine, 'a', '1')
    await source.close()
    const again = await open()
    expect([again.generation, again.engine.get('a')]).toEqual([1, bytes('1')])
    await again.close()
  })

  it('are replaced as a whole by what was prepared', async () => {
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

  it('stay as they are when preparing fails', async () => {
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

  it('are open once at a time', async () => {
    const { open } = make()
    const source = await open()
    await expect(open()).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining('in use') })
    await source.close()
    await (await open()).close()
  })
})

describe('a data directory', () => {
  it('holds a pointer, the live generation and the ballast, and nothing of old generations', async () => {
    const source = await openGenerations(path, silentLog)
    await source.replace((fresh) => put(fresh, 'a', '1'))
    expect((await readdir(path)).sort()).toEqual(['ballast', 'generation-2', 'live'])
    expect(await readFile(join(path, 'live'), 'utf8')).toBe('generation-2\n')
    expect((await stat(join(path, 'ballast'))).size).toBe(BALLAST_BYTES)
    await source.close()
  })

  it('after a crash before the pointer moved is the old one, after it the new one', async () => {
    const source = await openGenerations(path, silentLog)
    await put(source.engine, 'a', 'old')
    await source.close()
    await mkdir(join(path, 'generation-2'))
    await writeFile(join(path, 'generation-2', 'CURRENT'), 'half made')
    await writeFile(join(path, 'live.tmp'), 'generation-2')
    const before = await openGenerations(path, silentLog)
    expect([before.generation, before.engine.get('a')]).toEqual([1, bytes('old')])
    expect(await directories()).toEqual(['generation-1'])
    await before.replace((fresh) => put(fresh, 'a', 'new'))
    await before.close()

    await mkdir(join(path, 'generation-1'))
    const after = await openGenerations(path, silentLog)
    expect([after.generation, after.engine.get('a')]).toEqual([2, bytes('new')])
    expect(await directories()).toEqual(['generation-2'])
    await after.close()
  })

  it('names the generation that is in use, although moving the pointer failed after it had been moved', async () => {
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
    expect(await readFile(join(path, 'live'), 'utf8')).toBe('generation-1\n')
    await movePointer()
    await successor.abandon()
    await put(source.engine, 'a', '1')
    await source.close()
    const again = await openGenerations(path, silentLog)
    expect([again.generation, again.engine.get('a')]).toEqual([1, bytes('1')])
    await again.close()
  })

  it('is not touched by a process that finds it taken', async () => {
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

  it('that lost its live generation, its log or the sense of its pointer is refused', async () => {
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
    await writeFile(join(path, 'live'), 'nonsense')
    await expect(openGenerations(path, silentLog)).rejects.toMatchObject({ message: expect.stringContaining('name') })
  })
})
