import { isWrite, type Request } from '../../logical/request.js'
import { LogicalError } from '../../logical/errors.js'
import type { Route } from '../mounts/router.js'

/** Thrown on a performance standby if the active node must answer. This node has executed nothing. */
export class ForActiveNode extends Error {
  override readonly name = 'ForActiveNode'
}

/**
 * Returns whether a performance standby answers the request itself. The standby forwards all other requests before any
 * processing.
 */
export type AnsweredAlone = (asked: Route & { readonly request: Request }) => boolean

/**
 * Returns whether the active node must handle a request that failed with this error on a standby. The active node can
 * write data that a standby cannot, and knows the actual reason of a failed write.
 */
export const isForActiveNode = (error: unknown, { operation }: Pick<Request, 'operation'>): boolean =>
  error instanceof ForActiveNode ||
  (error instanceof LogicalError && (error.code === 'read-only' || isWrite(operation)))

/**
 * Calls `look` although the data of this node may be incomplete. Returns undefined if `look` throws a LogicalError,
 * because the missing data may still be replicating.
 */
export const lookEarly = <T>(look: () => T): T | undefined => {
  try {
    return look()
  } catch (error) {
    if (error instanceof LogicalError) return undefined
    throw error
  }
}
