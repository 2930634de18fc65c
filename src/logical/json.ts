import { type JsonValue, RawJson } from '../base/json.js'
import { parseExactJson } from '../base/exact-json.js'
import { LogicalError } from './errors.js'
import { type JsonCare, scanJson } from './json-scan.js'

export type { JsonObject, JsonValue } from '../base/json.js'

/** Returns a stored document. A large one stays as bytes, since a conversion to text would double its memory. */
export const storedJson = (stored: Buffer): RawJson =>
  new RawJson(stored.length > TEXT_BYTES_MAX ? stored : stored.toString('utf8'))

const TEXT_BYTES_MAX = 64 * 1024

/**
 * Parses a JSON text that Understudy wrote or stored. A number that would not print as written becomes a `RawNumber`; of
 * duplicate keys the last counts; `__proto__` is an ordinary key. Throws `invalid-request` for invalid JSON, for nesting
 * beyond 300, and for more members and elements than `valuesMax`. The error quotes no input, which may be secret.
 */
export const parseJson = (text: string, valuesMax = Number.POSITIVE_INFINITY): JsonValue =>
  parseAs(text, scanJson(Buffer.from(text), valuesMax))

/** Parses JSON from bytes like `parseJson`, with nesting up to `depthMax`. */
export const parseJsonBytes = (bytes: Buffer, depthMax?: number): JsonValue =>
  parseAs(bytes.toString('utf8'), scanJson(bytes, Number.POSITIVE_INFINITY, depthMax))

/** Parses with the care that a scan of the text's bytes returned, so that the text is parsed only once. */
export const parseAs = (text: string, care: JsonCare): JsonValue => {
  try {
    return care === 'plain' ? JSON.parse(text) : parseExactJson(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new LogicalError('invalid-request', 'error parsing JSON: the body is not valid JSON')
  }
}
