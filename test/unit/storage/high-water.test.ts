import { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { HighWater } from '../../../src/storage/engine/high-water.js'
import { openFixture, put } from './fixture.js'

let directory: string
let file: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'understudy-high-water-'))
  file = join(directory, 'acknowledged')
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const read = async (isDamageAccepted = false) => {
  const found = await HighWater.open(file, { mayBeNew: true, isDamageAccepted })
  found.close()
  return found.last && { revision: found.last.revision, index: found.last.index }
}

const write = async (...revisions: (number | undefined)[]) => {
  const made = await HighWater.open(file, { mayBeNew: true })
  for (const revision of revisions) made.write(revision === undefined ? undefined : { revision, index: 2 * revision })
  await made.settle()
  made.close()
}

it('the high-water mark is the last write, even if smaller or empty', async () => {
  expect(await read()).toBeUndefined()
  await write(1, 2, 3)
  expect(await read()).toEqual({ revision: 3, index: 6 })
  await write(2)
  expect(await read()).toEqual({ revision: 2, index: 4 })
  await write(undefined)
  expect(await read()).toBeUndefined()
})

it('the high-water mark falls back one write after a torn one, and reports an unreadable file', async () => {
  await write(1, 2)
  const bytes = await readFile(file)
  // The second write is in the first slot.
  bytes.writeUInt8(bytes.readUInt8(20) ^ 1, 20)
  await writeFile(file, bytes)
  expect(await read()).toEqual({ revision: 1, index: 2 })
  bytes.writeUInt8(bytes.readUInt8(4096) ^ 1, 4096)
  await writeFile(file, bytes)
  await expect(read()).rejects.toMatchObject({ code: 'internal', message: expect.stringContaining(file) })
  expect(await read(true)).toBeUndefined()
})

it('a missing high-water mark is an error for an old database, until a write with accepted damage', async () => {
  const refused = expect.stringContaining(`${file}, which records the acknowledged position, is missing`)
  await expect(HighWater.open(file, { mayBeNew: false })).rejects.toMatchObject({ code: 'internal', message: refused })
  const looked = await HighWater.open(file, { mayBeNew: false, isDamageAccepted: true })
  await looked.settle()
  looked.close()
  await expect(HighWater.open(file, { mayBeNew: false })).rejects.toMatchObject({ message: refused })
  const taken = await HighWater.open(file, { mayBeNew: false, isDamageAccepted: true })
  taken.write({ revision: 3, index: 6 })
  await taken.settle()
  taken.close()
  const again = await HighWater.open(file, { mayBeNew: false })
  again.close()
  expect(again.last).toMatchObject({ revision: 3, index: 6 })
})

it('a truncated high-water mark is an error, unless damage is accepted, and a write repairs it', async () => {
  await write(1, 2)
  for (const bytes of [0, 10, 4096, 5000]) {
    await truncate(file, bytes)
    await expect(HighWater.open(file, { mayBeNew: false })).rejects.toMatchObject({ code: 'internal' })
    const taken = await HighWater.open(file, { mayBeNew: false, isDamageAccepted: true })
    taken.write({ revision: 3, index: 6 })
    taken.close()
    const again = await HighWater.open(file, { mayBeNew: false })
    again.close()
    expect(again.last).toMatchObject({ revision: 3, index: 6 })
  }
})

it('the high-water mark advances with durable batches only', async () => {
  const { store, engine } = await openFixture()
  const open = engine.shut()
  const writing = put(store, 'logical/a', '1')
  await new Promise((resolve) => setImmediate(resolve))
  expect(engine.acknowledged).toBeUndefined()
  open()
  await writing
  expect(engine.acknowledged).toEqual({ revision: 1, index: 1 })

  const unsynced = await openFixture({ syncWrites: false })
  await put(unsynced.store, 'logical/a', '1')
  expect(unsynced.engine.acknowledged).toBeUndefined()
  await unsynced.store.settle()
  expect([unsynced.engine.acknowledged, unsynced.engine.durable.at(-1)]).toEqual([{ revision: 2, index: 1 }, true])
})
