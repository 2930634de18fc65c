import { KEYS } from '../../storage/key-families.js'
import type { WalEntry } from '../../storage/replicable.js'

/** The ids of the filters that these entries of the log change, each as often as they do. */
export const changedFilters = (entries: readonly WalEntry[]): readonly string[] => {
  const ids: string[] = []
  for (const { operations } of entries)
    for (const { key } of operations) if (key.startsWith(KEYS.filters)) ids.push(key.slice(KEYS.filters.length))
  return ids
}
