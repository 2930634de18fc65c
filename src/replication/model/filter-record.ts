import { LIMITS } from '../../base/limits.js'
import { sha256Hex } from '../../crypto/digest.js'
import {
  type CompiledFilter,
  compileFilter,
  type FilterRule,
  type MountFact,
  type NamespaceFact,
} from './compile-filter.js'

/** A filter as it is stored, below one key per secondary id. */
export interface FilterRecord extends FilterRule {
  /** Mounts that were filtered when they were unmounted: their deletions are never to be shipped. */
  readonly retired?: readonly string[]
  /** Mounts that were moved while they were filtered. They stay so wherever they are, until the filter is replaced. */
  readonly kept?: readonly string[]
  /** The paths as they were given, where they have followed their mounts since. */
  readonly asked?: readonly string[]
  /** How often the rule was replaced, or came to filter a shown mount: the secondary's data is to be compared. */
  readonly revision?: number
}

/** Equal records ask for equal data, whatever the mounts are called meanwhile. */
export const digestOf = ({ mode, paths, asked, revision = 0 }: FilterRecord): string =>
  sha256Hex(JSON.stringify([mode, asked ?? paths, revision]))

/** Within a transaction of the mount tables: a mount moved, or was unmounted where there is no `after`. */
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
 * The filter after a mount has moved or gone; the same one where it is not concerned. A rule follows the mounts that it
 * names, and what was filtered stays filtered under whatever name. Nothing is ever shown because of a move.
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

/** Shown by its path where the rule denies it; a rule that allows the new path, which nobody had, does not mean it. */
const followFiltered = (record: FilterRecord, after: MountFact, namespaces: readonly NamespaceFact[]): FilterRecord => {
  const { mode, paths } = record
  const isNamed = isFiltered({ mode, paths }, after, namespaces)
  const shown =
    mode === 'allow' ? paths.filter((path) => path !== after.path) : isNamed ? paths : [...paths, after.path]
  return { ...withPaths(record, shown), kept: withId(record.kept, after.uuid) }
}

/** The filter after a namespace is gone, with all that lay in it; the same one where it is not concerned. */
export const followNamespaceGone = (record: FilterRecord, namespace: NamespaceFact): FilterRecord =>
  withoutGone(record, (path) => path.startsWith(namespace.path))

/** A path that is gone leaves the rule: whatever comes to it one day was never meant, and starts unfiltered. */
const withoutGone = (record: FilterRecord, isGone: (path: string) => boolean): FilterRecord =>
  withPaths(
    record,
    record.paths.filter((path) => !isGone(path)),
  )
