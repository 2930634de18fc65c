/** Objects of JSON documents, as they pass through here on their way to a terminal or a file. */
import { RawNumber } from '../../../base/json.js'

export type JsonMap = { readonly [key: string]: unknown }

export const isMap = (value: unknown): value is JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof RawNumber)

/** Returns the same document with the keys of every object sorted. */
export const sortKeys = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (!isMap(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sortKeys(value[key])]),
  )
}
