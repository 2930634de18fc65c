/** Responses without an envelope, as returned by endpoints that work without a token. */
import type { FieldTable } from '../../logical/fields.js'
import type { PathSpec } from '../../logical/backend.js'
import type { JsonObject } from '../../logical/json.js'
import type { Response } from '../../logical/request.js'

export const bare = (data: JsonObject): Response => ({ data, bare: true })

/** Defines a path of the oldest endpoints: any verb outside the table is rejected with an empty list of errors. */
export const oldPath = <T extends FieldTable>(spec: PathSpec<T>): PathSpec<T> => ({ ...spec, isOldest: true })
