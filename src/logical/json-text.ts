import { LogicalError } from './errors.js'
import { type JsonValue, RawJson, RawNumber } from './json.js'
import { type JsonCare, scanJson } from './json-scan.js'
import { parseThoroughly } from './json-thorough.js'

/**
 * Reads a JSON text of our own making or keeping. A number that would not be printed back as it was written becomes a
 * `RawNumber`; of two equal keys the last counts; a key such as `__proto__` is a key like any other. Fails with
 * `invalid-request` for anything that is no JSON, for nesting beyond 300, and for more members and elements than
 * `valuesMax`. The error text quotes nothing of the input, which may be secret.
 */
export const parseJson = (text: string, valuesMax = Number.POSITIVE_INFINITY): JsonValue =>
  parseAs(text, scanJson(Buffer.from(text), valuesMax))

/** The same of a text that came as bytes. */
export const parseJsonBytes = (bytes: Buffer, valuesMax = Number.POSITIVE_INFINITY): JsonValue =>
  parseAs(bytes.toString('utf8'), scanJson(bytes, valuesMax))

/** The parse that a scan of the text's bytes has asked for: the text is read once, in one way or the other. */
export const parseAs = (text: string, care: JsonCare): JsonValue => {
  try {
    return care === 'plain' ? JSON.parse(text) : parseThoroughly(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new LogicalError('invalid-request', 'error parsing JSON: the body is not valid JSON')
  }
}

/** Prints what `JSON.stringify` prints, and `RawNumber` and `RawJson` as the text they hold. */
export const printJson = (value: unknown): string => {
  if (value instanceof RawJson || value instanceof RawNumber) return value.text
  return holdsRaw(value) ? printByHand(value) : JSON.stringify(value)
}

/** What `printJson` prints, in pieces: documents that are at hand as bytes, at the top or as a member, are not copied. */
export const printPieces = (value: unknown): readonly (string | Buffer)[] => {
  if (value instanceof RawJson) return [value.source]
  if (!holdsBytes(value)) return [printJson(value)]
  const pieces: (string | Buffer)[] = []
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue
    pieces.push(`${pieces.length === 0 ? '{' : ','}${JSON.stringify(key)}:`)
    pieces.push(member instanceof RawJson ? member.source : printJson(member))
  }
  return [...pieces, '}']
}

/** Whether `printPieces` has bytes among its pieces. */
export const holdsBytes = (value: unknown): value is object => {
  if (typeof value !== 'object' || value === null) return false
  if (value instanceof RawJson) return typeof value.source !== 'string'
  if (Array.isArray(value)) return false
  for (const key in value) {
    const member = (value as Record<string, unknown>)[key]
    if (member instanceof RawJson && typeof member.source !== 'string') return true
  }
  return false
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
