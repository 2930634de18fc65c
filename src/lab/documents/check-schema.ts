import type * as Yaml from 'yaml'
import { nearest } from '../../base/nearest.js'
import type { Schema, SchemaType } from './schema.js'
import { loadYaml, type Problem, type YamlDocument } from './yaml-document.js'

/** Aliases can form a tree that contains itself. */
const DEPTH_MAX = 32

/** Returns the schema errors of a document with their positions. For a misspelled key, suggests the nearest known key. */
export const checkSchema = (document: YamlDocument, schema: Schema): Problem[] =>
  check(document, schema, document.root, 'the file', 0)

const check = (document: YamlDocument, schema: Schema, given: unknown, name: string, depth: number): Problem[] => {
  const { isMap, isScalar, isSeq } = loadYaml()
  const at = document.placeOf(given)
  const node = document.resolve(given)
  if (depth > DEPTH_MAX) return [{ ...at, text: `${name} is nested too deeply` }]
  const type = isMap(node) ? 'object' : isSeq(node) ? 'array' : typeOfScalar(isScalar(node) ? node.value : null)
  if (!allows(schema, type)) return [{ ...at, text: `${name} is ${nameOf(type)}, but must be ${wanted(schema)}` }]
  if (isMap(node)) return checkMap(document, schema, node, name, depth)
  if (isSeq(node)) {
    const { items, minItems = 0 } = schema
    if (node.items.length < minItems) return [{ ...at, text: `${name} must have at least ${minItems}` }]
    return items
      ? node.items.flatMap((item, index) => check(document, items, item, `${name}[${index}]`, depth + 1))
      : []
  }
  const problem = isScalar(node) ? checkScalar(schema, node.value) : undefined
  return problem ? [{ ...at, text: `${name} ${problem}` }] : []
}

const checkMap = (
  document: YamlDocument,
  { properties = {}, required = [], propertyNames, additionalProperties = true }: Schema,
  map: Yaml.YAMLMap,
  name: string,
  depth: number,
): Problem[] => {
  const keys = map.items.map(({ key }) => String(key))
  const prefix = name === 'the file' ? '' : `${name}.`
  const missing = required.filter((key) => !keys.includes(key))
  return [
    ...missing.map((key) => ({ ...document.placeOf(map), text: `${name} lacks "${key}"` })),
    ...map.items.flatMap((pair) => {
      const key = String(pair.key)
      const known = Object.hasOwn(properties, key) ? properties[key] : undefined
      if (known) return check(document, known, pair.value ?? pair.key, `${prefix}${key}`, depth + 1)
      const at = document.placeOf(pair.key)
      if (additionalProperties === false) return [{ ...at, text: unknownKey(key, prefix, Object.keys(properties)) }]
      if (propertyNames && !new RegExp(propertyNames.pattern).test(key))
        return [{ ...at, text: `"${key}" in ${name} must be ${propertyNames.title ?? propertyNames.pattern}` }]
      if (additionalProperties === true) return []
      return check(document, additionalProperties, pair.value, `${prefix}${key}`, depth + 1)
    }),
  ]
}

const unknownKey = (key: string, prefix: string, known: readonly string[]): string => {
  const guess = nearest(key, known)
  return `there is no "${prefix}${key}"${guess ? `; did you mean "${guess}"?` : `; there are ${known.join(', ')}`}`
}

const checkScalar = (schema: Schema, value: unknown): string | undefined => {
  const { enum: choices, pattern, minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema
  const must = `is ${JSON.stringify(value)}, but must be ${wanted(schema)}`
  if (schema.const !== undefined && value !== schema.const) return must
  if (choices && !choices.includes(String(value))) {
    const guess = nearest(String(value), choices)
    return `${must}${guess ? `; did you mean "${guess}"?` : ''}`
  }
  if (typeof value === 'string' && pattern !== undefined && !new RegExp(pattern).test(value)) return must
  return typeof value === 'number' && (value < minimum || value > maximum) ? must : undefined
}

const typeOfScalar = (value: unknown): SchemaType => {
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value === 'string' ? 'string' : typeof value === 'boolean' ? 'boolean' : 'null'
}

const allows = ({ type }: Schema, found: SchemaType): boolean => {
  const allowed = type === undefined ? [] : [type].flat()
  return allowed.length === 0 || allowed.includes(found) || (found === 'integer' && allowed.includes('number'))
}

const NAMES: Readonly<Record<SchemaType, string>> = {
  object: 'a map',
  array: 'a list',
  string: 'a text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  null: 'empty',
}

const nameOf = (type: SchemaType): string => NAMES[type]

const wanted = (schema: Schema): string => {
  if (schema.title !== undefined) return schema.title
  if (schema.const !== undefined) return `"${schema.const}"`
  if (schema.enum) return schema.enum.map((one) => `"${one}"`).join(' or ')
  const range = schema.minimum !== undefined && schema.maximum !== undefined
  if (range) return `from ${schema.minimum} to ${schema.maximum}`
  return [schema.type ?? []].flat().map(nameOf).join(' or ') || `of the form ${schema.pattern}`
}
