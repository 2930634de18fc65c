import type { EngineSource } from './engine-source.js'
import { LiveEngine } from './live-engine.js'
import { MemoryDisk, MemoryEngine } from './memory-engine.js'
import { createSuccessor } from './successor.js'

/**
 * A data directory in memory. It outlives the sources that are opened on it, so a restart or a crash can be simulated.
 */
export class MemoryDirectory {
  generation = 1
  disk = new MemoryDisk()

  /**
   * Simulates a power loss: undoes all batches that were not durable except the first `keptBatches`, and frees the
   * directory for the next process.
   */
  crash(keptBatches = 0): void {
    this.disk.crash(keptBatches)
  }
}

/** Opens a data directory in memory. The counterpart of `openGenerations`. */
export const openMemoryGenerations = (directory = new MemoryDirectory()): EngineSource => {
  let live = new LiveEngine(new MemoryEngine(directory.disk))
  const commit = (disk: MemoryDisk) => {
    directory.disk = disk
    directory.generation++
  }
  return {
    get generation() {
      return directory.generation
    },
    get engine() {
      return live
    },
    async replace(prepare) {
      const disk = new MemoryDisk()
      const fresh = new MemoryEngine(disk)
      await prepare(fresh)
      commit(disk)
      const old = live
      live = new LiveEngine(fresh)
      await old.close()
      return live
    },
    async begin() {
      const old = directory.disk.owner
      const disk = new MemoryDisk()
      const engine = new MemoryEngine(disk)
      return createSuccessor(live, {
        engine,
        requireRoom: async () => undefined,
        commit: async () => commit(disk),
        discard: () => engine.close(),
        destroyOld: async () => old?.close(),
      })
    },
    close: () => live.close(),
    // The directory simulates all other effects of a process death.
    die: () => undefined,
  }
}
