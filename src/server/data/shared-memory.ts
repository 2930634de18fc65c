import type { Clock } from '../../base/clock.js'
import { MemoryLog } from '../../storage/shared-log/memory-log.js'
import { MemorySharedLog } from '../../storage/shared-log/memory-shared-log.js'

interface SharedMemoryOptions {
  readonly clock: Clock
  /** Milliseconds without a renewal after which a leader loses its lease. */
  readonly leaseMs: number
}

/** The shared log of one cluster whose nodes all run in this process. It outlives the nodes. */
export class SharedMemory {
  readonly #log: MemoryLog

  constructor(options: SharedMemoryOptions) {
    this.#log = new MemoryLog(options)
  }

  /** Connects a node to the shared log. `clock` is the clock of the node. */
  connect(clock: Clock): MemorySharedLog {
    return new MemorySharedLog(this.#log, clock)
  }
}

export type SharedMemoryConnection = MemorySharedLog
