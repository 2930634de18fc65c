import { createRequire } from 'node:module'
import type * as Yaml from 'yaml'
import { LabError } from '../lab-error.js'

/** Something that is wrong at a place of a file, counted from 1. */
export interface Problem {
  readonly line: number
  readonly column: number
  readonly text: string
}

/** A YAML file as a tree of nodes, with their places. */
export interface YamlDocument {
  readonly root: Yaml.Node | null
  /** What aliases stand for. */
  resolve(node: unknown): unknown
  placeOf(node: unknown): { readonly line: number; readonly column: number }
  toValue(): unknown
}

/** Loaded when the first file is read: it takes longer than all of a short command, which needs none. */
export const loadYaml = (): typeof Yaml => requireHere('yaml') as typeof Yaml

const requireHere = createRequire(import.meta.url)

/** What is not YAML at all is told as problems, each at its place. */
export const readYaml = (text: string): { readonly document: YamlDocument; readonly problems: readonly Problem[] } => {
  const { LineCounter, isAlias, isNode, parseDocument } = loadYaml()
  const lines = new LineCounter()
  const parsed = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const placeAt = (offset: number) => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }
  const problems = [...parsed.errors, ...parsed.warnings].map(({ message, pos }) => ({
    ...placeAt(pos[0]),
    text: message,
  }))
  return {
    document: {
      root: parsed.contents,
      resolve: (node) => (isAlias(node) ? node.resolve(parsed) : node),
      placeOf: (node) => placeAt((isNode(node) && node.range?.[0]) || 0),
      toValue: () => parsed.toJS(),
    },
    problems,
  }
}

/** All that is wrong with a file, one line each, as editors and compilers write it. */
export const refuseProblems = (file: string, problems: readonly Problem[]): void => {
  if (problems.length === 0) return
  const sorted = [...problems].sort((one, other) => one.line - other.line || one.column - other.column)
  throw new LabError('usage', sorted.map(({ line, column, text }) => `${file}:${line}:${column}: ${text}`).join('\n'))
}
