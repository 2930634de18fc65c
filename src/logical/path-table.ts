import { remembered } from '../base/remembered.js'
import type { Backend, PathSpec } from './backend.js'
import { compileFields, type FieldReader } from './field-values.js'

/** One row of a backend's path table, prepared for matching. */
export interface PathRow {
  readonly spec: PathSpec
  readonly fields: FieldReader
  readonly matcher: RegExp
  /** Names of the pattern's capture groups, in order. */
  readonly names: readonly string[]
}

export interface PathMatch {
  readonly row: PathRow
  readonly captured: Readonly<Record<string, string>>
}

/**
 * The path table of a backend. The first matching row applies. An index by the first segment limits the candidates,
 * which are compiled at their first use. A final `*name` matches the rest of the path. The rest can be empty, unless
 * the folder has its own row. Inside a pattern, `*name` matches one or more segments.
 */
class PathTable {
  readonly #specs: readonly PathSpec[]
  readonly #folders: ReadonlySet<string>
  readonly #segments: ReadonlySet<string | undefined>
  readonly #rows = new Map<PathSpec, PathRow>()
  /** The key `undefined` has the rows whose first segment is not literal. */
  readonly #bySegment = new Map<string | undefined, readonly PathRow[]>()

  constructor(specs: readonly PathSpec[]) {
    this.#specs = specs
    this.#folders = new Set(specs.map(({ pattern }) => pattern.replace(/\/\?$/, '')))
    this.#segments = new Set(specs.map(({ pattern }) => literalSegment(pattern)))
  }

  /**
   * Finds the row of a path. If `isList` is true, considers only rows that have the operation list, or that reject it
   * as the oldest endpoints do.
   */
  find(path: string, { isList = false } = {}): PathMatch | undefined {
    for (const row of this.#candidates(path)) {
      if (isList && !row.spec.operations.list && !row.spec.isOldest) continue
      const match = row.matcher.exec(path)
      if (match) return { row, captured: capture(row, match) }
    }
    return undefined
  }

  #candidates(path: string): readonly PathRow[] {
    const slash = path.indexOf('/')
    const first = slash < 0 ? path : path.slice(0, slash)
    const segment = this.#segments.has(first) ? first : undefined
    return remembered(this.#bySegment, segment, () => this.#compile(segment))
  }

  #compile(segment: string | undefined): readonly PathRow[] {
    const compile = (spec: PathSpec) => remembered(this.#rows, spec, () => compileRow(spec, this.#folders))
    return this.#specs.filter(({ pattern }) => [segment, undefined].includes(literalSegment(pattern))).map(compile)
  }
}

const NONE: Readonly<Record<string, string>> = {}

const capture = ({ names }: PathRow, match: RegExpExecArray): Readonly<Record<string, string>> => {
  if (names.length === 0) return NONE
  const captured: Record<string, string> = {}
  for (let index = 0; index < names.length; index++) captured[names[index] ?? ''] = match[index + 1] ?? ''
  return captured
}

const literalSegment = (pattern: string): string | undefined => {
  const [first = ''] = pattern.replace(/\/\?$/, '').split('/')
  return first.startsWith(':') || first.startsWith('*') ? undefined : first
}

const compileRow = (spec: PathSpec, folders: ReadonlySet<string>): PathRow => {
  const names: string[] = []
  const isTolerant = spec.pattern.endsWith('/?')
  const segments = (isTolerant ? spec.pattern.slice(0, -2) : spec.pattern).split('/')
  const parts = segments.map((segment, index) => {
    const isCapture = segment.startsWith(':') || segment.startsWith('*')
    if (!isCapture) return segment.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    names.push(segment.slice(1))
    if (segment.startsWith(':')) return '([^/]+)'
    if (index < segments.length - 1) return '([\\s\\S]+?)'
    if (spec.isKeyPath) return '([\\s\\S]*[^/])'
    return folders.has(segments.slice(0, index).join('/')) && index > 0 ? '([\\s\\S]+)' : '([\\s\\S]*)'
  })
  const matcher = new RegExp(`^${parts.join('/')}${isTolerant ? '/?' : ''}$`)
  return { spec, fields: compileFields(spec.fields), matcher, names }
}

const tables = new WeakMap<Backend, PathTable>()

/** Returns the compiled table of a backend, built on first use. */
export const tableOf = (backend: Backend): PathTable => remembered(tables, backend, () => new PathTable(backend.paths))
