import { isWrite, type Request } from '../../logical/request.js'
import { LogicalError } from '../../logical/errors.js'
import type { Route } from '../mounts/router.js'

/** Thrown on a performance standby: the active node is to answer, and nothing has been done here. */
export class ForActiveNode extends Error {
  override readonly name = 'ForActiveNode'
}

/** What a performance standby may answer: everything else is handed on before anything is tried. */
export type AnsweredAlone = (asked: Route & { readonly request: Request }) => boolean

/** Whether the active node is to be asked after this: it writes what cannot be written here, and knows better why a write fails. */
export const isForActiveNode = (error: unknown, { operation }: Pick<Request, 'operation'>): boolean =>
  error instanceof ForActiveNode ||
  (error instanceof LogicalError && (error.code === 'read-only' || isWrite(operation)))

/** Undefined where it throws what a client would be refused with: what it missed may be on its way. */
export const lookEarly = <T>(look: () => T): T | undefined => {
  try {
    return look()
  } catch (error) {
    if (error instanceof LogicalError) return undefined
    throw error
  }
}
