/** JSON merge patch (RFC 7386): objects are merged, null removes a key, and any other value replaces it. */
import { RawNumber } from '../../base/json.js'
import type { JsonObject, JsonValue } from '../../logical/json.js'

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof RawNumber)

export const mergePatch = (target: JsonValue | undefined, patch: JsonObject): JsonObject => {
  const merged: JsonObject = Object.assign(Object.create(null), isObject(target) ? target : undefined)
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key]
    else merged[key] = isObject(value) ? mergePatch(merged[key], value) : value
  }
  return merged
}
