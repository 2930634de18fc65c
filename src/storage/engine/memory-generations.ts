import type { EngineSource } from './engine-source.js'
import { LiveEngine } from './live-engine.js'
import { MemoryDisk, MemoryEngine } from './memory-engine.js'
import { createSuccessor } from './successor.js'

/** A data directory in memory. Engine sources open it one after another, to simulate restarts and crashes. */
export class MemoryDirectory {
  generation = 1
  disk = new MemoryDisk()

  /**
   * Simulates a power loss, and releases the directory for the next process. Of the batches that are not durable, keeps
   * only the first `keptBatches`.
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
        requireFreeSpace: async () => undefined,
        commit: async () => commit(disk),
        discard: () => engine.close(),
        destroyOld: async () => old?.close(),
      })
    },
    close: () => live.close(),
    // The methods of the simulated disk simulate the death of a process.
    die: () => undefined,
  }
}
