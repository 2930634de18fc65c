/**
 * The path of a rule: exact, a prefix (`x/*`), or with wildcard segments (`x/+/y`). Text that a template inserts is
 * always literal: an entity name with `*` or `+` grants access only to that name.
 */
import type { Entity, EntityAlias, Group } from '../../logical/identity.js'

/** The wildcard `+`, which matches exactly one segment. */
const ANY_SEGMENT = null

export interface PathPattern {
  /** The whole pattern as text, including `+` and `*`. */
  readonly text: string
  readonly kind: 'exact' | 'prefix' | 'segments'
  /** The text without the trailing `*` of a glob. */
  readonly literal: string
  readonly isGlob: boolean
  /**
   * Literal segments and ANY_SEGMENT. If the pattern is a glob, the last segment is a prefix. Empty for other kinds.
   */
  readonly segments: readonly (string | typeof ANY_SEGMENT)[]
  readonly anySegments: number
  /** The text before the first `+` or `*`, or the whole text if there is none. */
  readonly literalHead: string
}

/**
 * Resolves a rule's path for one entity. Returns undefined if a template cannot be resolved. Such a rule has no effect.
 */
export const resolvePattern = (path: string, entity: EntityView | undefined): PathPattern | undefined => {
  const isGlob = path.endsWith('*')
  const stem = isGlob ? path.slice(0, -1) : path
  const resolved = splitOutsideTemplates(stem).map((part) =>
    part === '+' ? [ANY_SEGMENT] : resolveTemplate(part, entity)?.split('/'),
  )
  const segments = resolved.flatMap((parts) => parts ?? [])
  return resolved.includes(undefined) ? undefined : makePattern(segments, isGlob)
}

const makePattern = (segments: (string | typeof ANY_SEGMENT)[], isGlob: boolean): PathPattern => {
  const literal = segments.map((segment) => segment ?? '+').join('/')
  const firstAny = segments.indexOf(ANY_SEGMENT)
  const literalHead = firstAny < 0 ? literal : [...segments.slice(0, firstAny), ''].join('/')
  const kind = firstAny >= 0 ? 'segments' : isGlob ? 'prefix' : 'exact'
  return {
    text: isGlob ? `${literal}*` : literal,
    kind,
    literal,
    isGlob,
    segments: kind === 'segments' ? segments : [],
    anySegments: segments.filter((segment) => segment === ANY_SEGMENT).length,
    literalHead,
  }
}

/** Splits a path into segments, except at slashes inside templates. */
const splitOutsideTemplates = (path: string): string[] => path.match(/(?:\{\{.*?\}\}|[^/])+|(?<=^|\/)(?=\/|$)/g) ?? ['']

/** Returns whether a path, split at its slashes, matches a `segments` pattern. */
export const matchesSegments = ({ segments, isGlob }: PathPattern, parts: readonly string[]): boolean => {
  if (isGlob ? parts.length < segments.length : parts.length !== segments.length) return false
  const last = segments.length - 1
  return segments.every((segment, index) => {
    if (segment === ANY_SEGMENT) return true
    const part = parts[index] ?? ''
    return isGlob && index === last ? part.startsWith(segment) : part === segment
  })
}

/** Returns whether the pattern can match a path at or below the folder `parts`. */
export const reachesBelow = (pattern: PathPattern, parts: readonly string[]): boolean => {
  const { segments } = pattern
  if (segments.length <= parts.length) return matchesSegments(pattern, parts)
  return parts.every((part, index) => segments[index] === ANY_SEGMENT || segments[index] === part)
}

/** A template in the path of a rule, such as `{{identity.entity.name}}`. */
const TEMPLATE = /\{\{(.*?)\}\}/g

export const hasTemplate = (path: string): boolean => path.includes('{{')

/** Returns whether every `{{` has exactly one `}}` before the next `{{`. */
export const isBalanced = (path: string): boolean => {
  const [before = '', ...pieces] = path.split('{{')
  return !before.includes('}}') && pieces.every((piece) => piece.split('}}').length === 2)
}

/**
 * Replaces all templates in a text. Returns undefined if a template cannot be resolved or the text contains unmatched
 * braces.
 */
export const resolveTemplate = (text: string, entity: EntityView | undefined): string | undefined => {
  if (!hasTemplate(text) && !text.includes('}}')) return text
  if (!isBalanced(text) || !entity) return undefined
  let isComplete = true
  const resolved = text.replace(TEMPLATE, (_, inner: string) => {
    const value = attributeOf(inner.trim(), entity)
    if (!value) isComplete = false
    return value ?? ''
  })
  return isComplete ? resolved : undefined
}

/**
 * Returns the value of an attribute such as `identity.entity.name`. Returns undefined or an empty string if the entity
 * lacks the attribute, or is in no such group.
 */
const attributeOf = (name: string, entity: EntityView): string | undefined => {
  if (name.startsWith('identity.groups.')) return groupAttributeOf(name.slice('identity.groups.'.length), entity)
  const path = name.startsWith('identity.entity.') ? name.slice('identity.entity.'.length) : ''
  const value = recordAttributeOf(path, entity)
  if (value !== undefined) return value
  const [, accessor, field] = /^aliases\.([^.]+)\.(.+)$/.exec(path) ?? []
  const alias = accessor === undefined ? undefined : entity.aliases.find((one) => one.mountAccessor === accessor)
  if (!alias || field === undefined) return undefined
  if (field === 'name') return alias.name
  if (field.startsWith('custom_metadata.')) return own(alias.customMetadata, field.slice('custom_metadata.'.length))
  return field.startsWith('metadata.') ? own(alias.metadata, field.slice('metadata.'.length)) : undefined
}

/** Returns the value of `ids.ID.ATTRIBUTE` or `names.NAME.ATTRIBUTE`. Names of groups may contain dots. */
const groupAttributeOf = (path: string, { groups = [] }: EntityView): string | undefined => {
  for (const group of groups) {
    for (const start of [`ids.${group.id}.`, `names.${group.name}.`]) {
      const value = path.startsWith(start) ? recordAttributeOf(path.slice(start.length), group) : undefined
      if (value !== undefined) return value
    }
  }
  return undefined
}

const recordAttributeOf = (path: string, record: GroupView): string | undefined => {
  if (path === 'id' || path === 'name') return record[path]
  return path.startsWith('metadata.') ? own(record.metadata, path.slice('metadata.'.length)) : undefined
}

const own = (record: Readonly<Record<string, string>>, key: string): string | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined

/** The fields of a group that a policy template can use. */
export type GroupView = Pick<Group, 'id' | 'name' | 'metadata'>

/** The fields of an entity that a policy template can use. Immutable. */
export type EntityView = Pick<Entity, 'id' | 'name' | 'metadata'> & {
  readonly aliases: readonly EntityAliasView[]
  /** All groups of the entity, including inherited ones. */
  readonly groups?: readonly GroupView[]
}

export type EntityAliasView = Pick<EntityAlias, 'mountAccessor' | 'name' | 'metadata' | 'customMetadata'>
