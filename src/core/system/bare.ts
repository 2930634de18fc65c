/** Answers without an envelope, as the endpoints give them that exist before there is a token. */
import type { FieldTable } from '../../logical/fields.js'
import type { Handler, PathSpec } from '../../logical/backend.js'
import { LogicalError } from '../../logical/errors.js'
import type { JsonObject } from '../../logical/json.js'
import type { Operation, Response } from '../../logical/request.js'

export const bare = (data: JsonObject): Response => ({ data, bare: true })

const OPERATIONS: readonly Operation[] = ['read', 'update', 'patch', 'list', 'delete']

/**
 * A path of the oldest endpoints: any verb but those of the table, listing included, is a 405 with an empty list of errors.
 */
export const oldPath = <T extends FieldTable>(spec: PathSpec<T>): PathSpec<T> => {
  const refuse: Handler<T> = () => {
    throw new LogicalError('unsupported-operation', '')
  }
  const refusals = Object.fromEntries(OPERATIONS.map((operation) => [operation, refuse]))
  return { ...spec, operations: { ...refusals, ...spec.operations } }
}
