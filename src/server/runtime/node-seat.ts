import type { SharedLog } from '../../storage/commit-log/shared-log.js'

/** The place of a runtime among the nodes of a cluster; a server that is a cluster alone has none. */
export interface NodeSeat {
  /** The log that all nodes follow, and one of them leads. */
  readonly sharedLog: SharedLog
  /** True for the one node that may serve clients: it is active, and surely nobody else is by now. */
  readonly isServing: boolean
  /** True from the election to the open cluster: clients wait. */
  readonly isTakingOver: boolean
  /** The barrier is open: the node stands for election from now on. */
  unsealed(): void
  /** The barrier is about to close. Resolves when the node leads no more, and a runtime that follows is in place. */
  sealed(): Promise<void>
  /** Another node is to be active. Throws LogicalError 503 where this one is not. */
  stepDown(): void
  /** Runs what writes although the cluster is closed, while this node leads. Throws LogicalError 503 where another one does. */
  whileLeading<T>(work: () => Promise<T>): Promise<T>
}
