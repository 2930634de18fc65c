import type { Engine } from './engine.js'
import type { EngineSource } from './engine-source.js'
import { MemoryDisk, MemoryEngine } from './memory-engine.js'

/** A data directory in memory. It outlives the sources opened on it, so that a restart or a crash can be rehearsed. */
export class MemoryDirectory {
  generation = 1
  disk = new MemoryDisk()

  /** Power loss: loses what was not durable and frees the directory for the next process. */
  crash(): void {
    this.disk.crash()
  }
}

/** The counterpart of `openGenerations` for storage in memory. */
export const openMemoryGenerations = (directory = new MemoryDirectory()): EngineSource => {
  let engine: Engine = new MemoryEngine(directory.disk)
  return {
    get generation() {
      return directory.generation
    },
    get engine() {
      return engine
    },
    async replace(prepare) {
      const disk = new MemoryDisk()
      const fresh = new MemoryEngine(disk)
      await prepare(fresh)
      directory.disk = disk
      directory.generation++
      await engine.close()
      engine = fresh
      return fresh
    },
    close: () => engine.close(),
  }
}
