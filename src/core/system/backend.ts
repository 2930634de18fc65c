import { type Backend, definePath, type PathParts, type PathSpec } from '../../logical/backend.js'
import type { PathRuleTable } from '../../logical/path-rules.js'
import type { FieldTable } from '../../logical/fields.js'
import type { JsonObject } from '../../logical/json.js'
import type { Response } from '../../logical/request.js'

/**
 * Creates the system backend from its path families. One backend handles the requests of all namespaces, because each
 * request contains its namespace and the backend has no storage.
 */
export const createSystemBackend = (paths: readonly PathSpec[], rules: PathRuleTable): Backend => ({
  type: 'system',
  paths,
  rules,
})

/** Creates a response without an envelope, which endpoints that require no token return. */
export const bare = (data: JsonObject): Response => ({ data, bare: true })

/** Defines a path of the oldest endpoints, which reject any other verb with an empty list of errors. */
export const oldPath = <T extends FieldTable>(
  pattern: string,
  fields: T,
  summary: string,
  parts: PathParts<T>,
): PathSpec => definePath(pattern, fields, summary, { ...parts, isOldest: true })
