import type { Clock } from '../../base/clock.js'
import { MemoryLog } from '../../storage/shared-log/memory-log.js'
import { MemorySharedLog } from '../../storage/shared-log/memory-shared-log.js'

interface SharedMemoryOptions {
  readonly clock: Clock
  /** Milliseconds without a heartbeat after which a leader loses its leadership. */
  readonly leaseMs: number
}

/** The data shared by the nodes of one cluster within one process. It outlives all of them. */
export class SharedMemory {
  readonly #log: MemoryLog

  constructor(options: SharedMemoryOptions) {
    this.#log = new MemoryLog(options)
  }

  /** Connects one server of a node, from startup to shutdown. `clock` is the node's clock. */
  connect(clock: Clock): MemorySharedLog {
    return new MemorySharedLog(this.#log, clock)
  }
}

export type SharedMemoryConnection = MemorySharedLog
