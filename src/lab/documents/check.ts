import { alternatives, counted } from '../../base/counted.js'
import { suggestion } from '../../base/nearest.js'
import { LabError } from '../model/lab-error.js'
import { isRecord, type Schema } from './schema.js'

/** A part of a value that does not match a schema. `isKey`: the last key of the path is wrong, not its value. */
export interface Mismatch {
  readonly path: readonly (string | number)[]
  readonly isKey?: true
  readonly text: string
}

/** Maximum number of nested levels. Stops at JavaScript objects that contain themselves. */
const DEPTH_MAX = 32

/**
 * Throws LabError `usage` with the first part of a value that does not match a schema. The error starts with `what`,
 * such as the name of the called function. `name`: the name of the whole value in the error.
 */
export const requireValid = (what: string, schema: Schema, value: unknown, name = 'the argument'): void => {
  const [mismatch] = findMismatches(schema, value, { path: [], name })
  if (mismatch) throw new LabError('usage', `${what}: ${mismatch.text}`)
}

/** A part of the value, with its name in errors. */
interface Position {
  readonly path: Mismatch['path']
  readonly name: string
}

/** Finds all parts of a value that do not match a schema. For a misspelled key, suggests the nearest known key. */
export const findMismatches = (schema: Schema, value: unknown, at: Position): readonly Mismatch[] => {
  const { path, name } = at
  const type = typeOf(value)
  const mismatch = (text: string): Mismatch[] => [{ path, text: `${name} ${text}` }]
  if (path.length > DEPTH_MAX) return mismatch(`is nested more than ${DEPTH_MAX} levels deep`)
  if (!allows(schema, type)) return mismatch(`is ${nameOf(type)}, but must be ${describeAllowed(schema)}`)
  if (isRecord(value)) return findInMap(schema, value, at)
  if (!Array.isArray(value)) {
    const problem = findInScalar(schema, value)
    return problem === undefined ? [] : mismatch(problem)
  }
  const { items, minItems = 0 } = schema
  if (value.length < minItems) return mismatch(`must have at least ${counted(minItems, 'entry', 'entries')}`)
  const itemAt = (index: number): Position => ({ path: [...path, index], name: `${name}[${index}]` })
  return items ? value.flatMap((item, index) => findMismatches(items, item, itemAt(index))) : []
}

/** Treats a known key with the value undefined as absent. An unknown key is an error, whatever its value. */
const findInMap = (
  { properties = {}, required = [], propertyNames, additionalProperties = true }: Schema,
  map: Readonly<Record<string, unknown>>,
  { path, name }: Position,
): readonly Mismatch[] => {
  const prefix = path.length === 0 ? '' : `${name}.`
  const isPresent = (key: string) => Object.hasOwn(map, key) && map[key] !== undefined
  const missing = required.filter((key) => !isPresent(key))
  const inner = Object.keys(map).flatMap((key): readonly Mismatch[] => {
    const position = { path: [...path, key], name: `${prefix}${key}` }
    const wrongKey = (text: string): Mismatch[] => [{ path: position.path, isKey: true, text }]
    const known = Object.hasOwn(properties, key) ? properties[key] : undefined
    if (!known && additionalProperties === false)
      return wrongKey(describeUnknownKey(key, prefix, Object.keys(properties)))
    if (!known && propertyNames && !new RegExp(propertyNames.pattern).test(key))
      return wrongKey(`"${key}" in ${name} must be ${propertyNames.title ?? propertyNames.pattern}`)
    const schema = known ?? additionalProperties
    return typeof schema === 'boolean' || !isPresent(key) ? [] : findMismatches(schema, map[key], position)
  })
  return [...missing.map((key) => ({ path, text: `${name} requires "${key}"` })), ...inner]
}

const describeUnknownKey = (key: string, prefix: string, known: readonly string[]): string => {
  return `unknown key "${prefix}${key}"${suggestion(key, known) || `; known keys: ${known.join(', ')}`}`
}

const findInScalar = (schema: Schema, value: unknown): string | undefined => {
  const { enum: choices, pattern, minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema
  const shown = typeof value === 'string' ? JSON.stringify(value) : String(value)
  const must = `is ${shown}, but must be ${describeAllowed(schema)}`
  if (schema.const !== undefined && value !== schema.const) return must
  if (choices && !choices.includes(String(value)))
    return typeof value === 'string' ? must + suggestion(value, choices) : must
  if (typeof value === 'string' && pattern !== undefined && !new RegExp(pattern).test(value)) return must
  // The negated condition also rejects NaN.
  return typeof value === 'number' && !(value >= minimum && value <= maximum) ? must : undefined
}

const typeOf = (value: unknown): string => {
  if (value === null) return 'null'
  if (Number.isInteger(value)) return 'integer'
  return Array.isArray(value) ? 'array' : typeof value
}

const allows = ({ type }: Schema, found: string): boolean => {
  const allowed: readonly string[] = type === undefined ? [] : [type].flat()
  return allowed.length === 0 || allowed.includes(found) || (found === 'integer' && allowed.includes('number'))
}

const NAMES: Readonly<Record<string, string>> = {
  object: 'a map',
  array: 'a list',
  integer: 'an integer',
  boolean: 'true or false',
  null: 'null (empty)',
  undefined: 'missing',
}

const nameOf = (type: string): string => NAMES[type] ?? `a ${type}`

const describeAllowed = (schema: Schema): string => {
  if (schema.title !== undefined) return schema.title
  if (schema.const !== undefined) return `"${schema.const}"`
  if (schema.enum) return alternatives(schema.enum.map((choice) => `"${choice}"`))
  const range = schema.minimum !== undefined && schema.maximum !== undefined
  if (range) return `from ${schema.minimum} to ${schema.maximum}`
  return alternatives([schema.type ?? []].flat().map(nameOf)) || `of the form ${schema.pattern}`
}
