import { describe, expect, it } from 'vitest'
import { MemoryDisk, MemoryEngine } from '../../../src/storage/engine/memory-engine.js'

const write = async (engine: MemoryEngine, key: string, isDurable: boolean): Promise<void> => {
  const batch = engine.batch()
  batch.put(key, Buffer.from('it'))
  batch.delete('first')
  await batch.write({ isDurable })
}

/** One durable key, and three batches that are not durable; each deletes the key. */
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
  it('a memory disk loses data that was not durable at a power loss', async () => {
    const disk = await written()
    disk.crash()
    expect(keysOf(disk)).toEqual(['first'])
    expect(disk.unsynced).toBe(0)
  })

  it('a memory disk keeps a prefix of the batches that were not durable, each as a whole', async () => {
    const disk = await written()
    disk.crash(2)
    expect(keysOf(disk)).toEqual(['a', 'b'])
  })

  it('a memory disk keeps everything when its process ends, and may still lose it with the power', async () => {
    const disk = await written()
    disk.release()
    expect(keysOf(disk)).toEqual(['a', 'b', 'c'])
    expect(() => new MemoryEngine(disk)).not.toThrow()
    disk.crash()
    expect(keysOf(disk)).toEqual(['first'])
  })
})
