import type { EngineSource } from './engine-source.js'
import { LiveEngine } from './live-engine.js'
import { MemoryDisk, MemoryEngine } from './memory-engine.js'
import { createSuccessor } from './successor.js'

/** A data directory in memory. It outlives the sources opened on it, so that a restart or a crash can be rehearsed. */
export class MemoryDirectory {
  generation = 1
  disk = new MemoryDisk()

  /** Power loss: loses what was not durable, but for the first so many batches, and frees the directory for the next process. */
  crash(keptBatches = 0): void {
    this.disk.crash(keptBatches)
  }
}

/** The counterpart of `openGenerations` for storage in memory. */
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
    // Whatever else the end of a process does to memory is up to the directory.
    die: () => undefined,
  }
}
