import { KEYS } from '../../storage/keys/key-families.js'
import type { WalEntry } from '../../storage/keys/replicable.js'

/** The ids of the filters among what has changed, each as often as it did. */
export const filterIdsIn = (changes: Iterable<{ readonly key: string }>): readonly string[] => {
  const ids: string[] = []
  for (const { key } of changes) if (key.startsWith(KEYS.filters)) ids.push(key.slice(KEYS.filters.length))
  return ids
}

/** The ids of the filters that these entries of the log change. */
export const changedFilters = (entries: readonly WalEntry[]): readonly string[] =>
  entries.flatMap(({ operations }) => filterIdsIn(operations))
