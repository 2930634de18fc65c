import type { Clock } from '../../base/clock.js'
import { MemoryLog } from '../../storage/commit-log/memory-log.js'
import { MemorySharedLog } from '../../storage/commit-log/memory-shared-log.js'

interface SharedMemoryOptions {
  /** By which leases end. */
  readonly clock: Clock
  /** Milliseconds after which a leader of whom nothing is heard has lost the lead. */
  readonly leaseMs: number
}

/** What the nodes of one cluster share where they are all in one process: it outlives every one of them. */
export class SharedMemory {
  readonly #log: MemoryLog

  constructor(options: SharedMemoryOptions) {
    this.#log = new MemoryLog(options)
  }

  /** The connection of one server of a node, from its start to its end. `clock` is the node's. */
  connect(clock: Clock): MemorySharedLog {
    return new MemorySharedLog(this.#log, clock)
  }
}

/** What a server has of the memory that it shares. */
export type SharedMemoryConnection = MemorySharedLog
