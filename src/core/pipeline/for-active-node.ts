import { isWrite, type Request } from '../../logical/request.js'
import { LogicalError } from '../../logical/errors.js'
import type { Route } from '../mounts/router.js'

/** Thrown on a performance standby: the active node must answer, and nothing has been executed here. */
export class ForActiveNode extends Error {
  override readonly name = 'ForActiveNode'
}

/** Returns whether a performance standby answers the request itself. All others are forwarded before any processing. */
export type AnsweredAlone = (asked: Route & { readonly request: Request }) => boolean

/**
 * Returns whether the active node must handle the request after this error: it can write what this node cannot, and knows
 * the actual reason of a failed write.
 */
export const isForActiveNode = (error: unknown, { operation }: Pick<Request, 'operation'>): boolean =>
  error instanceof ForActiveNode ||
  (error instanceof LogicalError && (error.code === 'read-only' || isWrite(operation)))

/**
 * Calls `look` before the data is known to be complete. Returns undefined on a client error, because the missing data
 * may still be replicating.
 */
export const lookEarly = <T>(look: () => T): T | undefined => {
  try {
    return look()
  } catch (error) {
    if (error instanceof LogicalError) return undefined
    throw error
  }
}
