import { counted } from '../../base/counted.js'
import { nearest } from '../../base/nearest.js'
import { LabError } from '../model/lab-error.js'
import { isRecord, type Schema } from './schema.js'

/** A part of a value that does not match a schema. `isKey`: the last key of the path is wrong, and not its value. */
export interface Mismatch {
  readonly path: readonly (string | number)[]
  readonly isKey?: true
  readonly text: string
}

/** A value can contain itself. */
const DEPTH_MAX = 32

/**
 * Throws LabError `usage` with the first part of a value that does not match a schema. `what`: the function or the object that
 * the error names. `name`: how the error calls the whole value.
 */
export const requireValid = (what: string, schema: Schema, value: unknown, name = 'the argument'): void => {
  const [mismatch] = findMismatches(schema, value, { path: [], name })
  if (mismatch) throw new LabError('usage', `${what}: ${mismatch.text}`)
}

interface Place {
  readonly path: Mismatch['path']
  readonly name: string
}

/** Finds all parts of a value that do not match a schema. For a misspelled key, suggests the nearest known key. */
export const findMismatches = (schema: Schema, value: unknown, at: Place): readonly Mismatch[] => {
  const { path, name } = at
  const type = typeOf(value)
  const refuse = (text: string): Mismatch[] => [{ path, text: `${name} ${text}` }]
  if (path.length > DEPTH_MAX) return refuse('is nested too deeply')
  if (!allows(schema, type)) return refuse(`is ${nameOf(type)}, but must be ${wanted(schema)}`)
  if (isRecord(value)) return findInMap(schema, value, at)
  if (!Array.isArray(value)) {
    const problem = findInScalar(schema, value)
    return problem === undefined ? [] : refuse(problem)
  }
  const { items, minItems = 0 } = schema
  if (value.length < minItems) return refuse(`must have at least ${counted(minItems, 'entry', 'entries')}`)
  const placeOf = (index: number): Place => ({ path: [...path, index], name: `${name}[${index}]` })
  return items ? value.flatMap((item, index) => findMismatches(items, item, placeOf(index))) : []
}

/** A key with the value undefined counts as absent, unless it is unknown. */
const findInMap = (
  { properties = {}, required = [], propertyNames, additionalProperties = true }: Schema,
  map: Readonly<Record<string, unknown>>,
  { path, name }: Place,
): readonly Mismatch[] => {
  const prefix = path.length === 0 ? '' : `${name}.`
  const isThere = (key: string) => Object.hasOwn(map, key) && map[key] !== undefined
  const missing = required.filter((key) => !isThere(key))
  const inner = Object.keys(map).flatMap((key): readonly Mismatch[] => {
    const place = { path: [...path, key], name: `${prefix}${key}` }
    const refuse = (text: string): Mismatch[] => [{ path: place.path, isKey: true, text }]
    const known = Object.hasOwn(properties, key) ? properties[key] : undefined
    if (!known && additionalProperties === false) return refuse(unknownKey(key, prefix, Object.keys(properties)))
    if (!known && propertyNames && !new RegExp(propertyNames.pattern).test(key))
      return refuse(`"${key}" in ${name} must be ${propertyNames.title ?? propertyNames.pattern}`)
    const schema = known ?? additionalProperties
    return typeof schema === 'boolean' || !isThere(key) ? [] : findMismatches(schema, map[key], place)
  })
  return [...missing.map((key) => ({ path, text: `${name} requires "${key}"` })), ...inner]
}

const unknownKey = (key: string, prefix: string, known: readonly string[]): string => {
  const guess = nearest(key, known)
  return `unknown key "${prefix}${key}"${guess ? `; did you mean "${guess}"?` : `; known keys: ${known.join(', ')}`}`
}

const findInScalar = (schema: Schema, value: unknown): string | undefined => {
  const { enum: choices, pattern, minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema
  const must = `is ${typeof value === 'string' ? JSON.stringify(value) : String(value)}, but must be ${wanted(schema)}`
  if (schema.const !== undefined && value !== schema.const) return must
  if (choices && !choices.includes(String(value))) {
    const guess = typeof value === 'string' ? nearest(value, choices) : undefined
    return `${must}${guess ? `; did you mean "${guess}"?` : ''}`
  }
  if (typeof value === 'string' && pattern !== undefined && !new RegExp(pattern).test(value)) return must
  // A number that is not a number is in no range.
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

const wanted = (schema: Schema): string => {
  if (schema.title !== undefined) return schema.title
  if (schema.const !== undefined) return `"${schema.const}"`
  if (schema.enum) return schema.enum.map((one) => `"${one}"`).join(' or ')
  const range = schema.minimum !== undefined && schema.maximum !== undefined
  if (range) return `from ${schema.minimum} to ${schema.maximum}`
  return [schema.type ?? []].flat().map(nameOf).join(' or ') || `of the form ${schema.pattern}`
}
