import { LIMITS } from '../base/limits.js'
import { parseDurationMs } from '../base/duration.js'
import { LogicalError } from './errors.js'
import { defaultsOf, type Field, type FieldKind, type FieldTable } from './fields.js'
import { isJsonObject, RawNumber } from '../base/json.js'
import type { JsonObject, JsonValue } from './json.js'

/** The fields of one path, prepared for reading. */
export interface FieldReader {
  readonly byName: ReadonlyMap<string, Field<unknown>>
  readonly defaults: Readonly<Record<string, unknown>>
}

/**
 * The values of a request by field. `unknown` contains the keys without a field. `replaced` contains the keys of the
 * body whose values the path overrides.
 */
export interface FieldValues {
  readonly values: Readonly<Record<string, unknown>>
  readonly supplied: ReadonlySet<string>
  readonly unknown: readonly string[]
  readonly replaced: readonly string[]
}

export const compileFields = (table: FieldTable): FieldReader => ({
  byName: new Map(Object.entries(table)),
  defaults: defaultsOf(table),
})

/**
 * Converts `data` and the values captured from the path. Captured values take precedence. Throws LogicalError 400
 * `<prefix>error converting input for field "<name>": <reason>`. The reason does not contain the value, which may be
 * secret.
 */
export const readFields = (
  reader: FieldReader,
  data: JsonObject,
  captured: Readonly<Record<string, string>>,
  prefix: string,
): FieldValues => {
  const values: Record<string, unknown> = { ...reader.defaults }
  const supplied = new Set<string>()
  const unknown: string[] = []
  const replaced: string[] = []
  const read = (name: string, raw: JsonValue) => {
    const field = reader.byName.get(name)
    if (!field) {
      unknown.push(name)
      return
    }
    // A duration of null counts as absent. For all other kinds, null is the zero value.
    if (raw === null && DURATIONS.has(field.kind)) return
    values[name] = coerce(field.kind, name, raw, prefix)
    supplied.add(name)
  }
  for (const name in data) {
    const raw = data[name]
    if (raw === undefined) continue
    if (!Object.hasOwn(captured, name)) read(name, raw)
    else if (raw !== null) replaced.push(name)
  }
  for (const name in captured) read(name, captured[name] ?? '')
  return { values, supplied, unknown, replaced }
}

const coerce = (kind: FieldKind, name: string, raw: JsonValue, prefix: string): unknown => {
  const result = findExcess(kind, raw) ?? COERCERS[kind](raw)
  if (!(result instanceof Refusal)) return result
  throw new LogicalError('invalid-request', `${prefix}error converting input for field "${name}": ${result.why}`)
}

/** The reason why a value cannot be converted. */
class Refusal {
  readonly why: string
  constructor(why: string) {
    this.why = why
  }
}

const DOCUMENTS: ReadonlySet<FieldKind> = new Set(['map', 'any'])
const SCALARS: ReadonlySet<FieldKind> = new Set(['bool', 'int', 'float', 'duration', 'signed-duration'])
const DURATIONS: ReadonlySet<FieldKind> = new Set(['duration', 'signed-duration'])

/** Rejects values that are longer than any valid value, because later processing may take quadratic time. */
const findExcess = (kind: FieldKind, raw: JsonValue): Refusal | undefined => {
  if (DOCUMENTS.has(kind)) return undefined
  if (typeof raw !== 'object' || raw === null || raw instanceof RawNumber) {
    const max = SCALARS.has(kind) ? LIMITS.scalarCharactersMax : LIMITS.fieldCharactersMax
    const length = scalarText(raw)?.length ?? 0
    return length > max ? new Refusal(`more than ${max} characters`) : undefined
  }
  const elements = Array.isArray(raw) ? raw : Object.values(raw)
  if (elements.length > LIMITS.listElementsMax) return tooMany()
  const length = elements.reduce<number>((sum, element) => sum + (scalarText(element)?.length ?? 0), 0)
  return length > LIMITS.fieldCharactersMax
    ? new Refusal(`more than ${LIMITS.fieldCharactersMax} characters`)
    : undefined
}

const tooMany = () => new Refusal(`more than ${LIMITS.listElementsMax} elements`)

const expected = (type: string, raw: JsonValue): Refusal =>
  new Refusal(`expected type '${type}', got unconvertible type '${typeName(raw)}'`)

const typeName = (raw: JsonValue): string => {
  if (raw === null) return 'null'
  if (Array.isArray(raw)) return 'array'
  return raw instanceof RawNumber ? 'number' : typeof raw
}

/**
 * Returns the text of a scalar. Numbers keep their spelling, Booleans become 1 and 0, and null becomes the empty
 * string. Returns undefined for other values.
 */
const scalarText = (raw: JsonValue): string | undefined => {
  if (typeof raw === 'string') return raw
  if (typeof raw === 'number') return String(raw)
  if (typeof raw === 'boolean') return raw ? '1' : '0'
  if (raw === null) return ''
  return raw instanceof RawNumber ? raw.text : undefined
}

const TRUE_WORDS: ReadonlySet<string> = new Set(['1', 't', 'T', 'TRUE', 'true', 'True'])
const FALSE_WORDS: ReadonlySet<string> = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False', ''])

/** Parses a Boolean. The empty string is false. Returns undefined for any other text. */
export const parseBool = (text: string): boolean | undefined => {
  if (TRUE_WORDS.has(text)) return true
  return FALSE_WORDS.has(text) ? false : undefined
}

const INTEGER = /^([+-]?)(?:(0x(?:_?[0-9a-f])+|0b(?:_?[01])+|0o(?:_?[0-7])+)|0((?:_?[0-7])+)|([1-9](?:_?\d)*|0))$/i
const INT64_MAX = 2 ** 63

/**
 * Parses an integer in decimal or with a base prefix; a leading zero means octal. Returns undefined outside 64 bits.
 */
const parseInteger = (text: string): number | undefined => {
  const [, sign, prefixed, octal, decimal] = INTEGER.exec(text) ?? []
  const digits = prefixed ?? (octal === undefined ? decimal : `0o${octal}`)
  if (digits === undefined) return undefined
  const size = Number(digits.replaceAll('_', ''))
  if (!(size < INT64_MAX) || size === 0) return size === 0 ? 0 : undefined
  return sign === '-' ? -size : size
}

const toInteger = (raw: JsonValue): number | Refusal => {
  const text = scalarText(raw)
  if (text === undefined) return expected('int', raw)
  if (text === '') return 0
  return parseInteger(text) ?? new Refusal("cannot parse '' as int: invalid syntax")
}

const FLOAT = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i

const toFloat = (raw: JsonValue): number | Refusal => {
  const text = scalarText(raw)
  if (text === undefined) return expected('float64', raw)
  if (text === '') return 0
  const value = FLOAT.test(text) ? Number(text) : Number.NaN
  return Number.isFinite(value) ? value : new Refusal("cannot parse '' as float: invalid syntax")
}

/** The maximum duration in milliseconds: 2^63 nanoseconds, as in Go. */
const DURATION_MS_MAX = 2 ** 63 / 1e6

const toSignedSeconds = (raw: JsonValue): number | Refusal => {
  if (typeof raw === 'boolean') return expected('duration', raw)
  const text = scalarText(raw)
  if (text === undefined) return expected('duration', raw)
  if (text === '') return 0
  const ms = parseDurationMs(text)
  if (ms === undefined || Math.abs(ms) >= DURATION_MS_MAX) return new Refusal('invalid duration')
  return ms / 1000 + 0
}

const toSeconds = (raw: JsonValue): number | Refusal => {
  const seconds = toSignedSeconds(raw)
  return typeof seconds === 'number' && seconds < 0
    ? new Refusal(`cannot provide negative value '${seconds}'`)
    : seconds
}

/** Converts each element to trimmed text. */
const toTexts = (raw: readonly JsonValue[]): readonly string[] | Refusal => {
  const texts: string[] = []
  for (const item of raw) {
    const text = scalarText(item)
    if (text === undefined) return expected('string', item)
    texts.push(text.trim())
  }
  return texts
}

const toList =
  (split: (text: string) => string[]) =>
  (raw: JsonValue): readonly string[] | Refusal => {
    if (Array.isArray(raw)) return toTexts(raw)
    const text = scalarText(raw)
    if (text === '' || (isJsonObject(raw) && Object.keys(raw).length === 0)) return []
    if (text === undefined) return expected('[]string', raw)
    const texts = split(text)
    return texts.length > LIMITS.listElementsMax ? tooMany() : toTexts(texts)
  }

const toMap = (raw: JsonValue): JsonObject | null | Refusal => {
  if (raw === null) return null
  if (isJsonObject(raw)) return raw
  if (!Array.isArray(raw) || !raw.every(isJsonObject)) return expected('map', raw)
  return Object.assign(Object.create(null), ...raw)
}

const toPairs = (raw: JsonValue): Record<string, string> | null | Refusal => {
  if (raw === null) return null
  const pairs: Record<string, string> = Object.create(null)
  if (isJsonObject(raw)) {
    for (const [key, value] of Object.entries(raw)) {
      const text = scalarText(value)
      if (text === undefined) return expected('string', value)
      pairs[key] = text
    }
    return pairs
  }
  const texts = raw === '' ? [] : toTexts(Array.isArray(raw) ? raw : [raw])
  if (texts instanceof Refusal) return texts
  for (const text of texts) {
    const equals = text.indexOf('=')
    if (equals < 0) return new Refusal('invalid key pair: expected key=value')
    pairs[text.slice(0, equals)] = text.slice(equals + 1)
  }
  return pairs
}

const COERCERS: Record<FieldKind, (raw: JsonValue) => unknown> = {
  string: (raw) => scalarText(raw) ?? expected('string', raw),
  bool: (raw) => {
    const text = scalarText(raw)
    if (text === undefined) return expected('bool', raw)
    return parseBool(text) ?? new Refusal("cannot parse '' as bool: invalid syntax")
  },
  int: toInteger,
  float: toFloat,
  duration: toSeconds,
  'signed-duration': toSignedSeconds,
  'comma-list': toList((text) => text.split(',', LIMITS.listElementsMax + 1)),
  'string-list': toList((text) => [text]),
  map: toMap,
  pairs: toPairs,
  any: (raw) => raw,
}
