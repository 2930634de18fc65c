import { expect, it } from 'vitest'
import { Packer } from '../../../src/storage/sync/packed.js'
import { StepWriter } from '../../../src/replication/secondary/step-writer.js'
import { bytes, openFixture } from '../storage/fixture.js'

const hooks = { beforeFiltered: async () => undefined }

it('an aborted resync leaves no pending import', async () => {
  const { engine, store } = await openFixture()
  const writer = new StepWriter({ store, hooks, onProgress: () => undefined, importBytes: 1 << 21 })
  const open = engine.shut()
  const packer = new Packer(64)
  packer.add('logical/a', Buffer.alloc(2 * 1024 * 1024))
  const entries = packer.take()
  const replies = async function* () {
    yield { entries, unknown: [], filtered: [] }
    throw new Error('the connection was lost')
  }
  await expect(writer.copy('replicated', replies())).rejects.toThrow('lost')
  const discarded = writer.discard()
  setImmediate(open)
  await discarded
  expect([store.isResyncing, store.get('logical/a')?.length]).toEqual([true, 2 * 1024 * 1024])
})

it('a resync with a failed import leaves no pending import', async () => {
  const { engine, store } = await openFixture()
  const writer = new StepWriter({ store, hooks, onProgress: () => undefined, importBytes: 1 << 21 })
  engine.failure = new Error('no space left on device')
  const mutations = [{ key: 'logical/a', value: Buffer.alloc(3 * 1024 * 1024) }]
  await writer.add({ mutations, filtered: [] })
  await writer.discard()
  await expect(store.write((tx) => tx.put('logical/b', bytes('1')))).rejects.toMatchObject({ code: 'unavailable' })
})
