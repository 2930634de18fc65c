/**
 * The path of a rule: exact, a prefix (`x/*`), or with segments that stand for anything (`x/+/y`). Text that comes from a
 * template is always literal: a name with `*` or `+` in it grants nothing more than that name.
 */
import type { EntityView } from './acl-entity.js'
import { resolveTemplate } from './acl-template.js'

/** Stands for exactly one segment. */
const ANY_SEGMENT = null

export interface PathPattern {
  /** The whole pattern as text; rules with the same text are merged. */
  readonly text: string
  readonly kind: 'exact' | 'prefix' | 'segments'
  /** Without the `*` of a glob. */
  readonly literal: string
  readonly isGlob: boolean
  /** Of kind `segments` only: literal segments and ANY_SEGMENT; the last one is a prefix when the pattern is a glob. */
  readonly segments: readonly (string | typeof ANY_SEGMENT)[]
  readonly anySegments: number
  /** The text before the first `+` or `*`; all of it when there is none. */
  readonly literalHead: string
}

/**
 * Makes the pattern of a rule's path for one entity. Undefined when a template in it cannot be resolved: then there is no
 * such rule.
 */
export const resolvePattern = (path: string, entity: EntityView | undefined): PathPattern | undefined => {
  const isGlob = path.endsWith('*')
  const stem = isGlob ? path.slice(0, -1) : path
  const resolved = splitOutsideTemplates(stem).map((part) =>
    part === '+' ? [ANY_SEGMENT] : resolveTemplate(part, entity)?.split('/'),
  )
  if (resolved.includes(undefined)) return undefined
  return makePattern(
    resolved.flatMap((parts) => parts ?? []),
    isGlob,
  )
}

const makePattern = (segments: (string | typeof ANY_SEGMENT)[], isGlob: boolean): PathPattern => {
  const literal = segments.map((segment) => segment ?? '+').join('/')
  const firstAny = segments.indexOf(ANY_SEGMENT)
  const head =
    firstAny < 0
      ? literal
      : segments
          .slice(0, firstAny)
          .map((segment) => `${segment}/`)
          .join('')
  const kind = firstAny >= 0 ? 'segments' : isGlob ? 'prefix' : 'exact'
  return {
    text: isGlob ? `${literal}*` : literal,
    kind,
    literal,
    isGlob,
    segments: kind === 'segments' ? segments : [],
    anySegments: segments.filter((segment) => segment === ANY_SEGMENT).length,
    literalHead: head,
  }
}

/** Segments of a path; a slash inside a template does not end one. */
const splitOutsideTemplates = (path: string): string[] => path.match(/(?:\{\{.*?\}\}|[^/])+|(?<=^|\/)(?=\/|$)/g) ?? ['']

/** Whether a path, split at its slashes, is what a `segments` pattern describes. */
export const matchesSegments = ({ segments, isGlob }: PathPattern, parts: readonly string[]): boolean => {
  if (isGlob ? parts.length < segments.length : parts.length !== segments.length) return false
  const last = segments.length - 1
  return segments.every((segment, index) => {
    if (segment === ANY_SEGMENT) return true
    const part = parts[index] ?? ''
    return isGlob && index === last ? part.startsWith(segment) : part === segment
  })
}

/** Whether some path at or below the folder `parts` could be what the pattern describes. */
export const reachesBelow = (pattern: PathPattern, parts: readonly string[]): boolean => {
  const { segments } = pattern
  if (segments.length <= parts.length) return matchesSegments(pattern, parts)
  return parts.every((part, index) => segments[index] === ANY_SEGMENT || segments[index] === part)
}
