import { parseExactJson } from '../base/exact-json.js'
import { LogicalError } from './errors.js'
import type { JsonValue } from './json.js'
import { type JsonCare, scanJson } from './json-scan.js'

/**
 * Reads a JSON text of our own making or keeping. A number that would not be printed back as it was written becomes a
 * `RawNumber`; of two equal keys the last counts; a key such as `__proto__` is a key like any other. Fails with
 * `invalid-request` for anything that is no JSON, for nesting beyond 300, and for more members and elements than
 * `valuesMax`. The error text quotes nothing of the input, which may be secret.
 */
export const parseJson = (text: string, valuesMax = Number.POSITIVE_INFINITY): JsonValue =>
  parseAs(text, scanJson(Buffer.from(text), valuesMax))

/** The same of a text that came as bytes, with nesting up to `depthMax`. */
export const parseJsonBytes = (bytes: Buffer, depthMax?: number): JsonValue =>
  parseAs(bytes.toString('utf8'), scanJson(bytes, Number.POSITIVE_INFINITY, depthMax))

/** The parse that a scan of the text's bytes has asked for: the text is read once, in one way or the other. */
export const parseAs = (text: string, care: JsonCare): JsonValue => {
  try {
    return care === 'plain' ? JSON.parse(text) : parseExactJson(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new LogicalError('invalid-request', 'error parsing JSON: the body is not valid JSON')
  }
}
