import { LIMITS } from '../base/limits.js'
import { LogicalError } from './errors.js'
import { rebuildJson } from './json-rebuild.js'
import { type JsonValue, RawJson, RawNumber } from './json.js'

/** Numbers that JavaScript may print in another way: a fraction, an exponent, minus zero, 16 digits or more. */
const DELICATE_NUMBER = /(?:^|[\s:,[])(?:-0|-?(?:\d{16}|\d+[.eE]))/
/** Names that objects inherit, and escapes that may spell them. */
const INHERITED_NAME =
  /__|\\u|constructor|toString|toLocaleString|valueOf|hasOwnProperty|isPrototypeOf|propertyIsEnumerable/
/** No shorter text can be nested too deeply and closed again. */
const SHORT_ENOUGH = 2 * LIMITS.jsonDepthMax

/**
 * Reads a JSON text. A number that would not be printed back as it was written becomes a `RawNumber`; of two equal keys the
 * last counts; a key such as `__proto__` is a key like any other. Fails with `invalid-request` for anything that is no JSON
 * and for nesting beyond 300. The error text quotes nothing of the input, which may be secret.
 */
export const parseJson = (text: string): JsonValue => {
  if (text.length > SHORT_ENOUGH && isTooDeep(text)) {
    throw new LogicalError('invalid-request', `error parsing JSON: nested deeper than ${LIMITS.jsonDepthMax} levels`)
  }
  let value: JsonValue
  try {
    value = JSON.parse(text)
  } catch {
    throw new LogicalError('invalid-request', 'error parsing JSON: the body is not valid JSON')
  }
  return DELICATE_NUMBER.test(text) || INHERITED_NAME.test(text) ? rebuildJson(text) : value
}

/** Prints what `JSON.stringify` prints, and `RawNumber` and `RawJson` as the text they hold. */
export const printJson = (value: unknown): string => {
  if (value instanceof RawJson || value instanceof RawNumber) return value.text
  return holdsRaw(value) ? printByHand(value) : JSON.stringify(value)
}

const holdsRaw = (value: unknown): boolean => {
  if (typeof value !== 'object' || value === null) return false
  if (value instanceof RawNumber || value instanceof RawJson) return true
  if (Array.isArray(value)) return value.some(holdsRaw)
  for (const key in value) {
    if (holdsRaw((value as Record<string, unknown>)[key])) return true
  }
  return false
}

const printByHand = (value: unknown): string => {
  if (value instanceof RawNumber || value instanceof RawJson) return value.text
  if (Array.isArray(value)) return `[${value.map((item) => printByHand(item ?? null)).join(',')}]`
  if (typeof value !== 'object' || value === null || value instanceof Date) return JSON.stringify(value)
  const members: string[] = []
  for (const [key, member] of Object.entries(value)) {
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${printByHand(member)}`)
  }
  return `{${members.join(',')}}`
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Counts brackets outside strings; stops at the first that is one too many. */
const isTooDeep = (text: string): boolean => {
  let depth = 0
  let isString = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) isString = !isString
    else if (isString) {
      if (code === BACKSLASH) at++
    } else if (code === 0x7b || code === 0x5b) {
      if (++depth > LIMITS.jsonDepthMax) return true
    } else if (code === 0x7d || code === 0x5d) depth--
  }
  return false
}
