import type { Engine } from '../../storage/engine/engine.js'
import type { SharedLog } from '../../storage/commit-log/shared-log.js'

/** The membership of a runtime in a multi-node cluster. A single-node cluster has none. */
export interface NodeSeat {
  /** The log that all nodes follow and the leader writes. */
  readonly sharedLog: SharedLog
  /** False once another node may have written data that this node lacks. */
  readonly isLeading: boolean
  readonly presence: {
    /** The known cluster addresses of the other nodes. */
    readonly otherAddresses: readonly string[]
    /** Calls `listener` when these change. Returns the unsubscribe function. */
    onOthers(listener: () => void): () => void
  }
  /** True for the one node that may serve clients: it is active, and its lease guarantees that no other node is. */
  readonly isServing: boolean
  /** True from the election until the cluster is open, and during a role change: clients wait. */
  readonly isTakingOver: boolean
  /** Reports that the barrier was unsealed: the node takes part in elections from now on. */
  unsealed(): void
  /**
   * Reports that the barrier is about to be sealed. Resolves when the node is no longer leader, and a following runtime is
   * in place.
   */
  sealed(): Promise<void>
  /** Reports that the runtime is about to be rebuilt for a role change. A leader keeps its leadership. */
  changing(): void
  /** Reports that the new runtime is in place; it follows the log. */
  changed(): void
  /**
   * Replaces the cluster's data with the content of the engine. Rejects with LogicalError 503 if this node is no longer
   * leader, or if the outcome is unknown.
   */
  publish(fresh: Engine): Promise<void>
  /** Lets another node become active. Throws LogicalError 503 if this node is not active. */
  stepDown(): void
  /** Runs `work`, which writes while the cluster is closed, as leader. Throws LogicalError 503 if another node leads. */
  whileLeading<T>(work: () => Promise<T>): Promise<T>
}
