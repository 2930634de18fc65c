import { createRequire } from 'node:module'
import { readNamedText } from '../../base/named-file.js'
import type * as Yaml from 'yaml'
import { LIMITS } from '../../base/limits.js'
import { nearest } from '../../base/nearest.js'
import { messageOf } from '../../base/printable.js'
import { LabError } from '../model/lab-error.js'
import type { Schema, SchemaType } from './schema.js'

/** An error at a position of a file. Lines and columns start at 1. */
export interface Problem {
  readonly line: number
  readonly column: number
  readonly text: string
}

/** A YAML file as a tree of nodes with positions. */
export interface YamlDocument {
  readonly root: Yaml.Node | null
  /** Resolves an alias to its node. */
  resolve(node: unknown): unknown
  placeOf(node: unknown): { readonly line: number; readonly column: number }
}

/** Loads the YAML parser with the first file: loading takes longer than a whole short command that needs no file. */
export const loadYaml = (): typeof Yaml => requireHere('yaml') as typeof Yaml

const requireHere = createRequire(import.meta.url)

/** Tells a file from the name of a bundled document: a file has a slash, or a YAML extension. */
export const isDocumentFile = (nameOrFile: string): boolean => /[/\\]|\.ya?ml$/.test(nameOrFile)

/** Throws a usage error that names the file if it cannot be read. */
export const readDocumentFile = (file: string): string => {
  try {
    return readNamedText(file)
  } catch (error) {
    throw new LabError('usage', `${file} cannot be read: ${messageOf(error)}`)
  }
}

/**
 * Parses YAML. Throws a usage error with the position of each syntax error, or if aliases make the document too large or make it
 * contain itself.
 */
const readYaml = (text: string, file: string): { readonly document: YamlDocument; readonly value: unknown } => {
  const { LineCounter, isAlias, isNode, parseDocument } = loadYaml()
  const deep = findTooDeep(text)
  const lines = new LineCounter()
  const parsed = parseDocument(deep ? '' : text, { lineCounter: lines, prettyErrors: false })
  const placeAt = (offset: number) => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }
  const problems = [...parsed.errors, ...parsed.warnings].map(({ message, pos }) => ({
    ...placeAt(pos[0]),
    text: message,
  }))
  refuseProblems(file, deep ? [deep] : problems)
  const document: YamlDocument = {
    root: parsed.contents,
    resolve: (node) => (isAlias(node) ? node.resolve(parsed) : node),
    placeOf: (node) => placeAt((isNode(node) && node.range?.[0]) || 0),
  }
  try {
    const value: unknown = parsed.toJS()
    JSON.stringify(value)
    return { document, value }
  } catch (error) {
    throw new LabError('usage', `${file}: an alias refers to itself, or the aliases expand to too much data`, {
      cause: error,
    })
  }
}

/** Returns the node at a path, or the deepest node on the way there. */
export const nodeAt = (document: YamlDocument, path: readonly (string | number)[]): unknown => {
  const { isMap, isSeq } = loadYaml()
  let node: unknown = document.root
  for (const key of path) {
    const inner = document.resolve(node)
    const pair = isMap(inner) ? inner.items.find((item: Yaml.Pair) => String(item.key) === String(key)) : undefined
    const next = pair ? (pair.value ?? pair.key) : isSeq(inner) ? inner.items[Number(key)] : undefined
    if (next === undefined || next === null) return node
    node = next
  }
  return node
}

/**
 * Finds the first line with too many levels, from indentation and brackets. The parser is recursive, so deep text would overflow
 * its stack.
 */
const findTooDeep = (text: string): Problem | undefined => {
  const indents: number[] = []
  let brackets = 0
  for (const [index, line] of text.split('\n').entries()) {
    const [start = ''] = /^(?:\s*[-?](?=\s))*\s*/.exec(line) ?? []
    if (start.length < line.length) {
      while ((indents.at(-1) ?? -1) >= start.length) indents.pop()
      indents.push(start.length)
    }
    const inLine = start.split(/[-?]/).length - 1
    for (const character of line) {
      if (character === '[' || character === '{') brackets++
      else if (character === ']' || character === '}') brackets = Math.max(0, brackets - 1)
      if (indents.length + inLine + brackets > LIMITS.yamlDepthMax)
        return { line: index + 1, column: 1, text: `the file is nested more than ${LIMITS.yamlDepthMax} levels deep` }
    }
  }
  return undefined
}

/** One mistake can cause a problem on every later line. */
const PROBLEMS_SHOWN_MAX = 20

/** Throws a usage error that lists all problems of a file, one per line in compiler format. */
export const refuseProblems = (file: string, problems: readonly Problem[]): void => {
  if (problems.length === 0) return
  const sorted = [...problems].sort((one, other) => one.line - other.line || one.column - other.column)
  const lines = sorted.map(({ line, column, text }) => `${file}:${line}:${column}: ${text}`)
  const beyond = lines.length - PROBLEMS_SHOWN_MAX
  const more = beyond > 0 ? [`${file}: and ${beyond} more`] : []
  throw new LabError('usage', [...lines.slice(0, PROBLEMS_SHOWN_MAX), ...more].join('\n'))
}

/** Aliases can form a tree that contains itself. */
const DEPTH_MAX = 32

/**
 * Parses YAML and validates it. Throws a usage error with the position of each error. For a misspelled key, suggests the nearest
 * known key.
 */
export const readDocument = (text: string, file: string, schema: Schema) => {
  const { document, value } = readYaml(text, file)
  refuseProblems(file, findErrors(document, schema))
  return { document, value }
}

const findErrors = (document: YamlDocument, root: Schema): Problem[] => {
  const { isMap, isScalar, isSeq } = loadYaml()
  const check = (schema: Schema, given: unknown, name: string, depth: number): Problem[] => {
    const at = document.placeOf(given)
    const node = document.resolve(given)
    if (depth > DEPTH_MAX) return [{ ...at, text: `${name} is nested too deeply` }]
    const type = isMap(node) ? 'object' : isSeq(node) ? 'array' : typeOfScalar(isScalar(node) ? node.value : null)
    if (!allows(schema, type)) return [{ ...at, text: `${name} is ${NAMES[type]}, but must be ${wanted(schema)}` }]
    if (isMap(node)) return checkMap(schema, node, name, depth)
    if (isSeq(node)) {
      const { items, minItems = 0 } = schema
      if (node.items.length < minItems)
        return [{ ...at, text: `${name} must have at least ${minItems} ${minItems === 1 ? 'entry' : 'entries'}` }]
      return items ? node.items.flatMap((item, index) => check(items, item, `${name}[${index}]`, depth + 1)) : []
    }
    const problem = isScalar(node) ? checkScalar(schema, node.value) : undefined
    return problem ? [{ ...at, text: `${name} ${problem}` }] : []
  }
  const checkMap = (schema: Schema, map: Yaml.YAMLMap, name: string, depth: number): Problem[] => {
    const { properties = {}, required = [], propertyNames, additionalProperties = true } = schema
    const keys = map.items.map(({ key }) => String(key))
    const prefix = name === 'the file' ? '' : `${name}.`
    const missing = required.filter((key) => !keys.includes(key))
    return [
      ...missing.map((key) => ({ ...document.placeOf(map), text: `${name} requires "${key}"` })),
      ...map.items.flatMap((pair) => {
        const key = String(pair.key)
        const known = Object.hasOwn(properties, key) ? properties[key] : undefined
        if (known) return check(known, pair.value ?? pair.key, `${prefix}${key}`, depth + 1)
        const at = document.placeOf(pair.key)
        if (additionalProperties === false) return [{ ...at, text: unknownKey(key, prefix, Object.keys(properties)) }]
        if (propertyNames && !new RegExp(propertyNames.pattern).test(key))
          return [{ ...at, text: `"${key}" in ${name} must be ${propertyNames.title ?? propertyNames.pattern}` }]
        if (additionalProperties === true) return []
        return check(additionalProperties, pair.value, `${prefix}${key}`, depth + 1)
      }),
    ]
  }
  return check(root, document.root, 'the file', 0)
}

const unknownKey = (key: string, prefix: string, known: readonly string[]): string => {
  const guess = nearest(key, known)
  return `unknown key "${prefix}${key}"${guess ? `; did you mean "${guess}"?` : `; known keys: ${known.join(', ')}`}`
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
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  null: 'empty',
}

const wanted = (schema: Schema): string => {
  if (schema.title !== undefined) return schema.title
  if (schema.const !== undefined) return `"${schema.const}"`
  if (schema.enum) return schema.enum.map((one) => `"${one}"`).join(' or ')
  const range = schema.minimum !== undefined && schema.maximum !== undefined
  if (range) return `from ${schema.minimum} to ${schema.maximum}`
  return (
    [schema.type ?? []]
      .flat()
      .map((type) => NAMES[type])
      .join(' or ') || `of the form ${schema.pattern}`
  )
}
