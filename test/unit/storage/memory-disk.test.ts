import { describe, expect, it } from 'vitest'
import { MemoryDisk, MemoryEngine } from '../../../src/storage/engine/memory-engine.js'

const write = async (engine: MemoryEngine, key: string, isDurable: boolean): Promise<void> => {
  const batch = engine.batch()
  batch.put(key, Buffer.from('it'))
  batch.delete('first')
  await batch.write({ isDurable })
}

/** One key that is durable, and three batches that are not; each of them deletes it. */
const written = async () => {
  const disk = new MemoryDisk()
  const engine = new MemoryEngine(disk)
  const first = engine.batch()
  first.put('first', Buffer.from('it'))
  await first.write({ isDurable: true })
  for (const key of ['a', 'b', 'c']) await write(engine, key, false)
  return disk
}

const keysOf = ({ map }: MemoryDisk) => map.frozen().flatMap(({ keys }) => keys)

describe('a disk in memory', () => {
  it('loses with the power what was not made durable', async () => {
    const disk = await written()
    disk.crash()
    expect(keysOf(disk)).toEqual(['first'])
    expect(disk.unsynced).toBe(0)
  })

  it('keeps the first of the batches that were not made durable, each of them whole', async () => {
    const disk = await written()
    disk.crash(2)
    expect(keysOf(disk)).toEqual(['a', 'b'])
  })

  it('has everything that was written when a process ends, and may lose it with the power still', async () => {
    const disk = await written()
    disk.release()
    expect(keysOf(disk)).toEqual(['a', 'b', 'c'])
    expect(() => new MemoryEngine(disk)).not.toThrow()
    disk.crash()
    expect(keysOf(disk)).toEqual(['first'])
  })
})
