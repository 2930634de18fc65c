import { createRequire } from 'node:module'
import { readNamedText } from '../../base/named-file.js'
import type * as Yaml from 'yaml'
import { LIMITS } from '../../base/limits.js'
import { messageOf } from '../../base/printable.js'
import { LabError } from '../model/lab-error.js'
import { findMismatches, type Mismatch } from './check.js'
import type { Schema } from './schema.js'

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
  /** Returns the position of a node. Line 1, column 1 for any other value. */
  placeOf(node: unknown): { readonly line: number; readonly column: number }
}

/** Loads the YAML parser. Called only if there is a file, because loading takes longer than a short command. */
export const loadYaml = (): typeof Yaml => createRequire(import.meta.url)('yaml') as typeof Yaml

/** Whether a text is the path of a file (has a slash or a YAML extension), not the name of an included document. */
export const isDocumentFile = (nameOrFile: string): boolean => /[/\\]|\.ya?ml$/.test(nameOrFile)

/** Returns the text of a file. Throws LabError `usage` with the name of the file if it cannot be read. */
export const readDocumentFile = (file: string): string => {
  try {
    return readNamedText(file)
  } catch (error) {
    throw new LabError('usage', `${file} cannot be read: ${messageOf(error)}`)
  }
}

/**
 * Parses YAML. Throws LabError `usage` with the position of each syntax error. Also throws if an alias refers to
 * itself, or if aliases make the document too large.
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

/** Returns the node at a path. If a part of the path does not exist, returns the node of the last existing part. */
export const nodeAt = (document: YamlDocument, path: readonly (string | number)[]): unknown => {
  let node: unknown = document.root
  for (const key of path) {
    const inner = document.resolve(node)
    const pair = findPair(document, node, key)
    const next = pair ? (pair.value ?? pair.key) : loadYaml().isSeq(inner) ? inner.items[Number(key)] : undefined
    if (next === undefined || next === null) return node
    node = next
  }
  return node
}
const findPair = (document: YamlDocument, node: unknown, key: string | number | undefined): Yaml.Pair | undefined => {
  const map = document.resolve(node)
  return loadYaml().isMap(map) ? map.items.find((item: Yaml.Pair) => String(item.key) === String(key)) : undefined
}

/** Finds the first line with too many levels, which would overflow the stack of the recursive parser. */
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

/** Maximum number of reported problems, because one mistake can cause a problem on every later line. */
const PROBLEMS_SHOWN_MAX = 20

/** Throws LabError `usage` if a file has problems, with one line per problem: `file:line:column: text`. */
export const refuseProblems = (file: string, problems: readonly Problem[]): void => {
  if (problems.length === 0) return
  const sorted = [...problems].sort((one, other) => one.line - other.line || one.column - other.column)
  const lines = sorted.map(({ line, column, text }) => `${file}:${line}:${column}: ${text}`)
  const beyond = lines.length - PROBLEMS_SHOWN_MAX
  const more = beyond > 0 ? [`${file}: ${beyond} more problems are not shown`] : []
  throw new LabError('usage', [...lines.slice(0, PROBLEMS_SHOWN_MAX), ...more].join('\n'))
}

/** Parses YAML and validates it against a schema. Throws LabError `usage` with the position of each error. */
export const readDocument = (text: string, file: string, schema: Schema) => {
  const { document, value } = readYaml(text, file)
  const mismatches = findMismatches(schema, value, { path: [], name: 'the file' })
  refuseProblems(
    file,
    mismatches.map((mismatch) => ({ ...placeOf(document, mismatch), text: mismatch.text })),
  )
  return { document, value }
}

const placeOf = (document: YamlDocument, { path, isKey }: Mismatch) => {
  const key = isKey && findPair(document, nodeAt(document, path.slice(0, -1)), path.at(-1))?.key
  return document.placeOf(key ?? nodeAt(document, path))
}
