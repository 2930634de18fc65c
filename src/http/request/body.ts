import { isUtf8 } from 'node:buffer'
import { requestGc } from '../../base/garbage.js'
import { LIMITS } from '../../base/limits.js'
import { nextTurn } from '../../base/turn.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { type JsonObject, type JsonValue, parseAs } from '../../logical/json.js'
import { scanJson } from '../../logical/json-scan.js'
import { parseForm } from '../message/target.js'

interface BodyText {
  /** The bytes of the body. Replaced with an empty buffer once they are decoded to text. */
  bytes: Buffer
  readonly mediaType: string | undefined
  /** True for an endpoint without an envelope: names are case-insensitive, and errors have another text. */
  readonly isBare: boolean
  /** The maximum number of members and elements, or of form parameters. */
  readonly valuesMax: number
}

/**
 * Parses the fields of a body. Treats the body as a form if its media type is that of a form and its first character is
 * not a bracket, otherwise as JSON. An empty body, whitespace and `null` mean no fields. Throws LogicalError 400 if the
 * JSON is not an object. Takes several turns of the event loop for a large body.
 */
export const parseFields = (body: BodyText): JsonObject | Promise<JsonObject> => {
  const { bytes, mediaType, isBare, valuesMax } = body
  const first = firstByte(bytes)
  if (first === undefined) return Object.create(null)
  if (isForm(mediaType) && !BRACKETS.has(first)) return parseForm(bytes.toString('utf8').trim(), valuesMax)
  const isLarge = bytes.length > LIMITS.openBodyBytesMax
  if (isLarge) return parseInTurns(body).catch((error) => Promise.reject(withErrorText(isBare, error)))
  try {
    const care = scan(body)
    return toFields(parseAs(bytes.toString('utf8'), care), isBare)
  } catch (error) {
    throw withErrorText(isBare, error)
  }
}

const NOTHING = Buffer.alloc(0)

const parseInTurns = async (body: BodyText): Promise<JsonObject> => {
  await nextTurn()
  const care = scan(body)
  await nextTurn()
  let text = body.bytes.toString('utf8')
  requestGc(body.bytes.length)
  body.bytes = NOTHING
  await nextTurn()
  const value = parseAs(text, care)
  requestGc(text.length)
  text = ''
  await nextTurn()
  return toFields(value, body.isBare)
}

const scan = ({ bytes, valuesMax }: BodyText) => {
  if (!isUtf8(bytes)) throw invalid('error parsing JSON: the body is not UTF-8')
  return scanJson(bytes, valuesMax)
}

const BLANKS: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d])
const BRACKETS: ReadonlySet<number> = new Set([0x5b, 0x7b])

/** Returns the first byte that is not whitespace. */
const firstByte = (bytes: Buffer): number | undefined => {
  let at = 0
  while (BLANKS.has(bytes[at] ?? 0)) at++
  return bytes[at]
}

const isForm = (mediaType: string | undefined): boolean =>
  mediaType !== undefined && /^\s*application\/x-www-form-urlencoded\s*(?:;|$)/i.test(mediaType)

const toFields = (value: JsonValue, isBare: boolean): JsonObject => {
  if (value === null) return Object.create(null)
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw invalid('error parsing JSON: the body is not a JSON object')
  }
  if (Object.getPrototypeOf(value) === null && !isBare) return value as JsonObject
  const fields: JsonObject = Object.create(null)
  for (const [name, member] of Object.entries(value)) fields[isBare ? name.toLowerCase() : name] = member
  return fields
}

/**
 * Returns a JSON error with the text that Vault uses for endpoints without an envelope (`isBare`), or unchanged for
 * other endpoints.
 */
const withErrorText = (isBare: boolean, error: unknown): unknown =>
  error instanceof LogicalError && isBare
    ? invalid(error.message.replace('error parsing JSON', 'failed to parse JSON input'))
    : error
