/**
 * Counts the values of a JSON text in one pass over its bytes, before parsing. A text of a few megabytes can contain
 * millions of values, and a parsed value can take a hundred times the memory of its text.
 */
import { LIMITS } from '../base/limits.js'
import { LogicalError } from './errors.js'

/**
 * The parser that a text requires. `plain`: `JSON.parse`. `thorough`: a slower parser, because the text may contain
 * numbers that JavaScript prints differently, names that objects inherit, or escapes of half a surrogate pair.
 */
export type JsonCare = 'plain' | 'thorough'

/** JavaScript may print a number with at least this many characters differently. */
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
 * Scans a JSON text, and returns the parser that it requires. Throws LogicalError `invalid-request` for nesting deeper
 * than `depthMax`, for a number that is too long, and for more than `valuesMax` members and elements. A container also
 * counts as a value. Does not validate the JSON syntax, which the parser does.
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
      let hasEscape = false
      for (at = start; at < end; at++) {
        const inner = bytes[at]
        if (inner === QUOTE) break
        if (inner !== BACKSLASH) continue
        if (bytes[++at] !== LOWER_U) continue
        hasEscape = true
        if (isSurrogate(bytes, at + 1)) care = 'thorough'
      }
      if (care === 'plain' && isInherited(bytes, start, at, hasEscape)) care = 'thorough'
    } else if (byte === COMMA) values++
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      values++
      if (++depth > depthMax) throw refusal(`nested deeper than ${depthMax} levels`)
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--
    else if (byte === MINUS || (byte >= ZERO && byte <= NINE)) {
      const start = at
      while (isNumberByte(bytes[at + 1])) at++
      if (at - start >= LIMITS.jsonNumberCharactersMax) {
        throw refusal(`a number of more than ${LIMITS.jsonNumberCharactersMax} characters`)
      }
      if (care === 'plain' && mayPrintDifferently(bytes, start, at + 1)) care = 'thorough'
    }
    if (values > valuesMax) throw refusal(`more than ${valuesMax} members and elements`)
  }
  return care
}

const refusal = (why: string): LogicalError => new LogicalError('invalid-request', `error parsing JSON: ${why}`)

/**
 * Returns true if the hex digits at `at` are those of a surrogate, D8 to DF. Two surrogates may form a character, which
 * the parser checks.
 */
const isSurrogate = (bytes: Uint8Array, at: number): boolean => {
  const first = bytes[at] as number
  const second = bytes[at + 1] as number
  return (
    (first | CASE) === LOWER_D &&
    (second === EIGHT || second === NINE || ((second | CASE) >= LOWER_A && (second | CASE) <= LOWER_F))
  )
}

const isNumberByte = (byte: number | undefined): boolean =>
  byte !== undefined && ((byte >= MINUS && byte <= NINE) || byte === UPPER_E || byte === LOWER_E)

/** Returns true for a number with a fraction, an exponent or many digits, and for minus zero. */
const mayPrintDifferently = (bytes: Uint8Array, start: number, end: number): boolean => {
  if (end - start >= LONG_NUMBER || (bytes[start] === MINUS && bytes[start + 1] === ZERO)) return true
  for (let at = start; at < end; at++) {
    const byte = bytes[at]
    if (byte === POINT || byte === UPPER_E || byte === LOWER_E) return true
  }
  return false
}

/**
 * Returns true if the string may be a name that objects inherit. `hasEscape` is true if the string contains escapes.
 * Checks all strings, not only names, because a false positive only selects the slower parser.
 */
const isInherited = (bytes: Uint8Array, start: number, end: number, hasEscape: boolean): boolean => {
  const length = end - start
  if (length > ESCAPED_NAME_MAX) return false
  if (hasEscape || (bytes[start] === UNDERSCORE && bytes[start + 1] === UNDERSCORE)) return true
  if (length < 'valueOf'.length || length > 'propertyIsEnumerable'.length) return false
  return INHERITED.has(String.fromCharCode(...bytes.subarray(start, end)))
}
