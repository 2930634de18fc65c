/** Access rules of sys/storage/raft, and whether these paths exist. */
import { definePath, type Handler, type PathSpec } from '../../logical/backend.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import type { JsonObject } from '../../logical/json.js'
import { DR_REFUSAL } from '../../logical/refusal-texts.js'
import type { Request } from '../../logical/request.js'
import { notRaft } from './raft-join-paths.js'

export interface RaftAccess {
  /** The label of the storage stanza. */
  readonly label: string
  readonly isDrSecondary: () => boolean
  /** Returns whether an operation token authorizes the request. */
  readonly isOperationTokenAllowed: (token: string, request: Request) => boolean
}

export const TOKEN_FIELDS = {
  dr_operation_token: string('Operation token, on a DR secondary.', '', { isSecret: true }),
} as const

/** Checks the operation token on a DR secondary, which has no other tokens. */
export const requireAllowed = (access: RaftAccess, request: Request, token: string): void => {
  if (!access.isDrSecondary()) return
  if (token === '' || !access.isOperationTokenAllowed(token, request)) throw invalid(DR_REFUSAL)
}

export const requireRaft = ({ label }: RaftAccess): void => {
  if (label !== 'raft') throw notRaft(label)
}

/** Defines a status path. On a DR secondary it accepts an operation token in the query or, for an update, in the body. */
export const statusPath = (
  pattern: string,
  summary: string,
  access: RaftAccess,
  body: () => JsonObject | Promise<JsonObject>,
): PathSpec => {
  const answer: Handler<typeof TOKEN_FIELDS> = async ({ request, values }) => {
    requireAllowed(access, request, values.dr_operation_token)
    if (!access.isDrSecondary() && request.operation !== 'read') {
      throw new LogicalError('unsupported-operation', 'unsupported operation', { wrapped: true })
    }
    requireRaft(access)
    return { data: await body() }
  }
  return definePath({ pattern, fields: TOKEN_FIELDS, summary, operations: { read: answer, update: answer } })
}
