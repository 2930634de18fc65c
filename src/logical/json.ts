import { type JsonValue, RawJson } from '../base/json.js'
import { parseExactJson } from '../base/exact-json.js'
import { LogicalError } from './errors.js'
import { type JsonCare, scanJson } from './json-scan.js'

export type { JsonObject, JsonValue } from '../base/json.js'

/**
 * Returns a stored document. A large document stays in bytes, because its conversion to text would double the memory.
 */
export const storedJson = (stored: Buffer): RawJson =>
  new RawJson(stored.length > TEXT_BYTES_MAX ? stored : stored.toString('utf8'))

const TEXT_BYTES_MAX = 64 * 1024

/**
 * Parses a JSON text. A number that JavaScript would print differently becomes a `RawNumber`. The last of several equal
 * keys takes effect. `__proto__` is an ordinary key. Throws LogicalError `invalid-request` for invalid JSON, for
 * nesting deeper than 300 levels, and for more than `valuesMax` members and elements. The error text does not contain
 * the input, which may be secret.
 */
export const parseJson = (text: string, valuesMax = Number.POSITIVE_INFINITY): JsonValue =>
  parseAs(text, scanJson(Buffer.from(text), valuesMax))

/** Parses JSON from bytes like `parseJson`, with nesting up to `depthMax`. */
export const parseJsonBytes = (bytes: Buffer, depthMax?: number): JsonValue =>
  parseAs(bytes.toString('utf8'), scanJson(bytes, Number.POSITIVE_INFINITY, depthMax))

/**
 * Parses a text with the parser that `scanJson` has returned for its bytes. Throws LogicalError `invalid-request` for
 * invalid JSON.
 */
export const parseAs = (text: string, care: JsonCare): JsonValue => {
  try {
    return care === 'plain' ? JSON.parse(text) : parseExactJson(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new LogicalError('invalid-request', 'error parsing JSON: the body is not valid JSON')
  }
}

/** Returns null for an empty list or object, as many responses of Vault contain it. */
export const nullIfEmpty = <T extends object>(value: T): T | null => (Object.keys(value).length === 0 ? null : value)
