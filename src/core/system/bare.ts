/** Answers without an envelope, as the endpoints give them that exist before there is a token. */
import type { FieldTable } from '../../logical/fields.js'
import type { PathSpec } from '../../logical/backend.js'
import type { JsonObject } from '../../logical/json.js'
import type { Response } from '../../logical/request.js'

export const bare = (data: JsonObject): Response => ({ data, bare: true })

/** A path of the oldest endpoints: any verb but those of the table is refused with nothing to read. */
export const oldPath = <T extends FieldTable>(spec: PathSpec<T>): PathSpec<T> => ({ ...spec, isOldest: true })
