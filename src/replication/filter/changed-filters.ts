import { KEYS } from '../../storage/keys/key-families.js'
import type { WalEntry } from '../../storage/keys/replicable.js'

/** Returns the IDs of the changed filters, one per change. */
export const filterIdsIn = (changes: Iterable<{ readonly key: string }>): readonly string[] => {
  const ids: string[] = []
  for (const { key } of changes) if (key.startsWith(KEYS.filters)) ids.push(key.slice(KEYS.filters.length))
  return ids
}

/** Returns the IDs of the filters that these log entries change. */
export const changedFilters = (entries: readonly WalEntry[]): readonly string[] =>
  entries.flatMap(({ operations }) => filterIdsIn(operations))
