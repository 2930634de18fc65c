import { expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { DiskFaults, withDiskFaults } from '../../../src/server/faults/disk-faults.js'
import { openMemoryGenerations } from '../../../src/storage/engine/memory-generations.js'

it('a storage replacement takes effect, even if the disk is full by then', async () => {
  const faults = new DiskFaults()
  const bare = openMemoryGenerations()
  const replace = bare.replace.bind(bare)
  bare.replace = async (prepare) => {
    const fresh = await replace(prepare)
    faults.state = 'full'
    return fresh
  }
  const source = withDiskFaults(bare, faults, systemClock)
  await source.replace(async (fresh) => {
    const batch = fresh.batch()
    batch.put('key', Buffer.from('new'))
    await batch.write({ isDurable: true })
  })
  expect(source.engine.get('key')?.toString()).toBe('new')
})
