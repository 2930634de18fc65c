import { LIMITS } from '../../base/limits.js'
import { sha256Hex } from '../../crypto/digest.js'
import {
  type CompiledFilter,
  compileFilter,
  type FilterRule,
  type MountFact,
  type NamespaceFact,
} from './compile-filter.js'

/** A stored path filter. Each secondary has at most one, under its ID. */
export interface FilterRecord extends FilterRule {
  /** IDs of mounts that were filtered when they were unmounted. The deletions of their keys must never be sent. */
  readonly retired?: readonly string[]
  /** IDs of mounts that were moved while they were filtered. They stay filtered until the filter is replaced. */
  readonly kept?: readonly string[]
  /** The paths that the operator set. Present if the move or removal of a mount has changed `paths` since. */
  readonly asked?: readonly string[]
  /**
   * Number of replacements of the rule, plus the number of moves that filtered a visible mount. After each increment,
   * the data of the secondary must be compared.
   */
  readonly revision?: number
}

/**
 * Returns a digest of a filter. Equal digests mean that the secondary needs the same data. The move of a mount does not
 * change the digest, unless the move filters a visible mount.
 */
export const digestOf = ({ mode, paths, asked, revision = 0 }: FilterRecord): string =>
  sha256Hex(JSON.stringify([mode, asked ?? paths, revision]))

/** A move of a mount, or an unmount if `after` is undefined. */
export interface MountChange {
  readonly before: MountFact
  readonly after: MountFact | undefined
}

export const compileRecord = (
  record: FilterRecord,
  mounts: readonly MountFact[],
  namespaces: readonly NamespaceFact[],
  more: Iterable<string> = [],
): CompiledFilter =>
  compileFilter(record, mounts, namespaces, [...(record.retired ?? []), ...(record.kept ?? []), ...more])

const isFiltered = (record: FilterRecord, mount: MountFact, namespaces: readonly NamespaceFact[]): boolean =>
  compileRecord(record, [mount], namespaces).filteredMounts.has(mount.uuid)

const withId = (ids: readonly string[] | undefined, id: string): string[] =>
  [...(ids ?? []).filter((other) => other !== id), id].slice(-LIMITS.filterMountsKeptMax)

const withPaths = (record: FilterRecord, paths: readonly string[]): FilterRecord =>
  paths.length === record.paths.length && paths.every((path, at) => path === record.paths[at])
    ? record
    : { ...record, paths, asked: record.asked ?? record.paths }

/**
 * Returns the filter after a mount was moved or unmounted, or the same filter if it is not affected. If the rule
 * contains the path of a moved mount, the new path replaces it. A filtered mount stays filtered, because a move must
 * never make data visible.
 */
export const followMount = (
  record: FilterRecord,
  { before, after }: MountChange,
  namespaces: readonly NamespaceFact[],
): FilterRecord => {
  const wasFiltered = isFiltered(record, before, namespaces)
  if (!after) {
    const next = withoutGone(record, (path) => path === before.path)
    if (!wasFiltered) return next
    const kept = (record.kept ?? []).filter((id) => id !== before.uuid)
    return { ...next, kept, retired: withId(record.retired, before.uuid) }
  }
  const paths = [...new Set(record.paths.map((path) => (path === before.path ? after.path : path)))]
  if (wasFiltered) return followFiltered(withPaths(record, paths), after, namespaces)
  const moved = withPaths(record, paths)
  return isFiltered(moved, after, namespaces) ? { ...moved, revision: (record.revision ?? 0) + 1 } : moved
}

/**
 * Keeps a mount filtered at its new path. Adds the path to a deny rule. Removes the path from an allow rule, because
 * the operator listed it before this mount had the path.
 */
const followFiltered = (record: FilterRecord, after: MountFact, namespaces: readonly NamespaceFact[]): FilterRecord => {
  const { mode, paths } = record
  const isNamed = isFiltered({ mode, paths }, after, namespaces)
  const shown =
    mode === 'allow' ? paths.filter((path) => path !== after.path) : isNamed ? paths : [...paths, after.path]
  return { ...withPaths(record, shown), kept: withId(record.kept, after.uuid) }
}

/** Returns the filter after a namespace and its content were deleted, or the same filter if it is not affected. */
export const followNamespaceGone = (record: FilterRecord, namespace: NamespaceFact): FilterRecord =>
  withoutGone(record, (path) => path.startsWith(namespace.path))

/** Removes deleted paths from the rule, so that the rule does not apply to a new mount with the same path. */
const withoutGone = (record: FilterRecord, isGone: (path: string) => boolean): FilterRecord =>
  withPaths(
    record,
    record.paths.filter((path) => !isGone(path)),
  )
