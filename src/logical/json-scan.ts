/**
 * Counts the values of a JSON text in one pass over its bytes, before parsing. A text of a few megabytes may hold millions
 * of values, and a parsed value takes a hundred times its size.
 */
import { LIMITS } from '../base/limits.js'
import { LogicalError } from './errors.js'

/**
 * `thorough`: the text contains numbers that JavaScript prints differently, names that objects inherit, or escapes that may
 * form half of a surrogate pair.
 */
export type JsonCare = 'plain' | 'thorough'

/** Numbers with at least this many characters may print differently than they were written. */
const LONG_NUMBER = 16
/** The length of the longest inherited name with every character escaped. */
const ESCAPED_NAME_MAX = 6 * 'propertyIsEnumerable'.length
const INHERITED: ReadonlySet<string> = new Set(
  Object.getOwnPropertyNames(Object.prototype).filter((name) => !name.startsWith('__')),
)

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const MINUS = 0x2d
const POINT = 0x2e
const ZERO = 0x30
const EIGHT = 0x38
const NINE = 0x39
const UNDERSCORE = 0x5f
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const UPPER_E = 0x45
/** The bit that distinguishes upper and lower case letters. */
const CASE = 0x20
const LOWER_A = 0x61
const LOWER_D = 0x64
const LOWER_E = 0x65
const LOWER_F = 0x66
const LOWER_U = 0x75

/**
 * Throws `invalid-request` for nesting beyond `depthMax`, for overlong numbers, and for more than `valuesMax` members and
 * elements, with each container counted once more. Does not validate the JSON syntax; the parser does.
 */
export const scanJson = (bytes: Uint8Array, valuesMax: number, depthMax: number = LIMITS.jsonDepthMax): JsonCare => {
  const end = bytes.length
  let care: JsonCare = 'plain'
  let depth = 0
  let values = 0
  for (let at = 0; at < end; at++) {
    const byte = bytes[at] as number
    if (byte === QUOTE) {
      const start = at + 1
      let isSpelt = false
      for (at = start; at < end; at++) {
        const inner = bytes[at]
        if (inner === QUOTE) break
        if (inner !== BACKSLASH) continue
        if (bytes[++at] !== LOWER_U) continue
        isSpelt = true
        if (isHalf(bytes, at + 1)) care = 'thorough'
      }
      if (care === 'plain' && isInherited(bytes, start, at, isSpelt)) care = 'thorough'
    } else if (byte === COMMA) values++
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      values++
      if (++depth > depthMax) throw refusal(`nested deeper than ${depthMax} levels`)
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--
    else if (byte === MINUS || (byte >= ZERO && byte <= NINE)) {
      const start = at
      while (isOfNumber(bytes[at + 1])) at++
      if (at - start >= LIMITS.jsonNumberCharactersMax) {
        throw refusal(`a number of more than ${LIMITS.jsonNumberCharactersMax} characters`)
      }
      if (care === 'plain' && isDelicate(bytes, start, at + 1)) care = 'thorough'
    }
    if (values > valuesMax) throw refusal(`more than ${valuesMax} members and elements`)
  }
  return care
}

const refusal = (why: string): LogicalError => new LogicalError('invalid-request', `error parsing JSON: ${why}`)

/**
 * Returns true if the hex digits at `at` begin a surrogate: D8 to DF. Two in a row may form a character, which the parser
 * checks.
 */
const isHalf = (bytes: Uint8Array, at: number): boolean => {
  const first = bytes[at] as number
  const second = bytes[at + 1] as number
  return (
    (first | CASE) === LOWER_D &&
    (second === EIGHT || second === NINE || ((second | CASE) >= LOWER_A && (second | CASE) <= LOWER_F))
  )
}

const isOfNumber = (byte: number | undefined): boolean =>
  byte !== undefined && ((byte >= MINUS && byte <= NINE) || byte === UPPER_E || byte === LOWER_E)

/** Returns true for a fraction, an exponent, minus zero, or many digits. */
const isDelicate = (bytes: Uint8Array, start: number, end: number): boolean => {
  if (end - start >= LONG_NUMBER || (bytes[start] === MINUS && bytes[start + 1] === ZERO)) return true
  for (let at = start; at < end; at++) {
    const byte = bytes[at]
    if (byte === POINT || byte === UPPER_E || byte === LOWER_E) return true
  }
  return false
}

/**
 * Returns true if the string may be a name that objects inherit. `isSpelt`: it contains escapes. Checks all strings, not
 * only names: a false positive only selects a slower parser.
 */
const isInherited = (bytes: Uint8Array, start: number, end: number, isSpelt: boolean): boolean => {
  const length = end - start
  if (length > ESCAPED_NAME_MAX) return false
  if (isSpelt || (bytes[start] === UNDERSCORE && bytes[start + 1] === UNDERSCORE)) return true
  if (length < 'valueOf'.length || length > 'propertyIsEnumerable'.length) return false
  return INHERITED.has(String.fromCharCode(...bytes.subarray(start, end)))
}
