import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LevelEngine } from '../../../src/storage/engine/level-engine.js'
import { bytes } from './fixture.js'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'understudy-seal-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const open = () => LevelEngine.open({ directory, createIfMissing: true })

const fill = async (engine: LevelEngine): Promise<void> => {
  const batch = engine.batch()
  batch.put('a', bytes('1'))
  await batch.write({ isDurable: true })
}

const logFile = async (): Promise<string> =>
  join(directory, (await readdir(directory)).find((name) => /^\d+\.log$/.test(name)) ?? '')

it('files that changed after a clean close are rejected and left unchanged', async () => {
  const engine = await open()
  await fill(engine)
  await engine.close()
  const file = await logFile()
  const before = await readFile(file)
  const changed = Buffer.from(before)
  changed.writeUInt8(changed.readUInt8(20) ^ 1, 20)
  await writeFile(file, changed)
  for (let times = 0; times < 2; times++) {
    await expect(open()).rejects.toMatchObject({ code: 'internal', message: expect.stringContaining(file) })
  }
  await writeFile(file, before)
  const again = await open()
  expect(again.get('a')).toEqual(bytes('1'))
  await again.close()
})

it('a database with a missing file is rejected', async () => {
  const engine = await open()
  await fill(engine)
  await engine.close()
  await rm(await logFile())
  await expect(open()).rejects.toMatchObject({ message: expect.stringContaining('is missing') })
})

it('files without a clean close are opened unchecked', async () => {
  const engine = await open()
  await fill(engine)
  await engine.discard()
  const again = await open()
  expect(again.get('a')).toEqual(bytes('1'))
  expect(await readdir(directory)).not.toContain('files.sha256')
  await again.close()
  expect(await readdir(directory)).toContain('files.sha256')
})
