/** Hides values in audit entries: the same text gives the same hash on one device, and no other. */
import { hmacSha256Hex } from '../crypto/hmac.js'
import { RawJson, RawNumber } from '../logical/json.js'
import { parseJson } from '../logical/json-text.js'

export interface Hider {
  /** A token, or a string value. */
  text(value: string): string
  accessor(value: string): string
  /** A copy of `value` in which every string is hidden but those whose key is in `plainKeys`. */
  values(value: unknown, plainKeys: ReadonlySet<string>): unknown
}

export const hashText = (salt: string, text: string): string => `hmac-sha256:${hmacSha256Hex(Buffer.from(salt), text)}`

export const createHider = (salt: string, options: { isRaw: boolean; hashesAccessors: boolean }): Hider => {
  const plain = (text: string) => text
  const hash = (text: string) => hashText(salt, text)
  const text = options.isRaw ? plain : hash
  return {
    text,
    accessor: options.isRaw || !options.hashesAccessors ? plain : hash,
    values: (value, plainKeys) =>
      mapStrings(value, undefined, (found, key) => (plainKeys.has(key ?? '') ? found : text(found))),
  }
}

/** Elements of a list stand under the key of the list. */
const mapStrings = (
  value: unknown,
  key: string | undefined,
  change: (text: string, key: string | undefined) => string,
): unknown => {
  if (typeof value === 'string') return change(value, key)
  if (value instanceof RawJson) return mapStrings(parseJson(value.text), key, change)
  if (Array.isArray(value)) return value.map((element) => mapStrings(element, key, change))
  if (typeof value !== 'object' || value === null || value instanceof RawNumber) return value
  const copy: Record<string, unknown> = Object.create(null)
  for (const [name, element] of Object.entries(value)) copy[name] = mapStrings(element, name, change)
  return copy
}
