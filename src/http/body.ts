import { isUtf8 } from 'node:buffer'
import { LIMITS } from '../base/limits.js'
import { nextTurn } from '../base/turn.js'
import { invalid, LogicalError } from '../logical/errors.js'
import type { JsonObject, JsonValue } from '../logical/json.js'
import { scanJson } from '../logical/json-scan.js'
import { parseAs } from '../logical/json-text.js'
import { isBarePath } from './own-paths.js'
import { parseForm } from './url-pairs.js'

interface BodyText {
  readonly bytes: Buffer
  readonly mediaType: string | undefined
  readonly path: string
  /** Members and elements, or parameters. */
  readonly valuesMax: number
}

/**
 * The fields of a body: JSON whatever the media type says, unless it is called a form and does not look like JSON. Nothing,
 * blanks and `null` are no fields. Fails with 400 for anything but an object. A large one is read in several turns of the
 * event loop.
 */
export const parseFields = (body: BodyText): JsonObject | Promise<JsonObject> => {
  const { bytes, mediaType, path, valuesMax } = body
  const first = firstByte(bytes)
  if (first === undefined) return Object.create(null)
  if (isForm(mediaType) && !BRACKETS.has(first)) return parseForm(bytes.toString('utf8').trim(), valuesMax)
  const isLarge = bytes.length > LIMITS.openBodyBytesMax
  if (isLarge) return parseInTurns(body).catch((error) => Promise.reject(inWordsOf(path, error)))
  try {
    const care = judge(body)
    return toFields(parseAs(bytes.toString('utf8'), care), path)
  } catch (error) {
    throw inWordsOf(path, error)
  }
}

const parseInTurns = async (body: BodyText): Promise<JsonObject> => {
  await nextTurn()
  const care = judge(body)
  await nextTurn()
  const text = body.bytes.toString('utf8')
  const value = parseAs(text, care)
  await nextTurn()
  return toFields(value, body.path)
}

const judge = ({ bytes, valuesMax }: BodyText) => {
  if (!isUtf8(bytes)) throw invalid('error parsing JSON: the body is not UTF-8')
  return scanJson(bytes, valuesMax)
}

const BLANKS: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d])
const BRACKETS: ReadonlySet<number> = new Set([0x5b, 0x7b])

/** That is no blank. */
const firstByte = (bytes: Buffer): number | undefined => {
  let at = 0
  while (BLANKS.has(bytes[at] ?? 0)) at++
  return bytes[at]
}

const isForm = (mediaType: string | undefined): boolean =>
  mediaType !== undefined && /^\s*application\/x-www-form-urlencoded\s*(?:;|$)/i.test(mediaType)

const toFields = (value: JsonValue, path: string): JsonObject => {
  if (value === null) return Object.create(null)
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw invalid('error parsing JSON: the body is not a JSON object')
  }
  if (Object.getPrototypeOf(value) === null && !isBarePath(path)) return value as JsonObject
  const fields: JsonObject = Object.create(null)
  const isBare = isBarePath(path)
  for (const [name, member] of Object.entries(value)) fields[isBare ? name.toLowerCase() : name] = member
  return fields
}

/** The other decoder has other words. */
const inWordsOf = (path: string, error: unknown): unknown =>
  error instanceof LogicalError && isBarePath(path)
    ? invalid(error.message.replace('error parsing JSON', 'failed to parse JSON input'))
    : error
