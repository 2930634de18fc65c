import type { Engine } from '../../storage/engine/engine.js'
import type { SharedLog } from '../../storage/commit-log/shared-log.js'

/** The place of a runtime among the nodes of a cluster; a server that is a cluster alone has none. */
export interface NodeSeat {
  /** The log that all nodes follow, and one of them leads. */
  readonly sharedLog: SharedLog
  /** False once another node may have written what is not known here. */
  readonly isLeading: boolean
  readonly presence: {
    /** The cluster addresses of the other nodes, as far as they are known. */
    readonly otherAddresses: readonly string[]
    /** Called when those have changed. Returns the unsubscribe function. */
    onOthers(listener: () => void): () => void
  }
  /** True for the one node that may serve clients: it is active, and surely nobody else is by now. */
  readonly isServing: boolean
  /** True from the election to the open cluster, and while a change of role is made: clients wait. */
  readonly isTakingOver: boolean
  /** The barrier is open: the node stands for election from now on. */
  unsealed(): void
  /** The barrier is about to close. Resolves when the node leads no more, and a runtime that follows is in place. */
  sealed(): Promise<void>
  /** The runtime is about to be built anew since a role has changed. The node leads on, if it does. */
  changing(): void
  /** The new runtime is in place; it follows. */
  changed(): void
  /**
   * Makes the content of the engine the data of the cluster, in place of all that was. Rejects with LogicalError 503 when this node
   * does not lead any more, or nobody can tell what became of it.
   */
  publish(fresh: Engine): Promise<void>
  /** Another node is to be active. Throws LogicalError 503 where this one is not. */
  stepDown(): void
  /** Runs what writes although the cluster is closed, while this node leads. Throws LogicalError 503 where another one does. */
  whileLeading<T>(work: () => Promise<T>): Promise<T>
}
