import { KEYS } from '../../storage/keys/key-families.js'
import type { Frame, WalEntry } from '../../storage/keys/replicable.js'
import { decodeFrame } from '../../storage/log/frame.js'

/** Returns the IDs of the filters that `changes` contain. An ID that changed twice is listed twice. */
export const filterIdsIn = (changes: Iterable<{ readonly key: string }>): readonly string[] => {
  const ids: string[] = []
  for (const { key } of changes) if (key.startsWith(KEYS.filters)) ids.push(key.slice(KEYS.filters.length))
  return ids
}

/** Returns the IDs of the filters that these log entries change. */
export const changedFilters = (entries: readonly WalEntry[]): readonly string[] =>
  entries.flatMap(({ operations }) => filterIdsIn(operations))

/**
 * Returns the last index of the newest of these frames that changes one of these filters. A secondary that was
 * disconnected during such a change may lack entries that were withheld for a time, even if the filter is now the same
 * as before.
 */
export const findFilterChange = (frames: readonly Frame[], ids: readonly string[]): number | undefined => {
  const isChanging = (frame: Frame) =>
    frame.hasReplicated &&
    // Most frames change no filter and need no decoding.
    frame.bytes.includes(KEYS.filters) &&
    changedFilters(decodeFrame(frame)).some((id) => ids.includes(id))
  return frames.findLast(isChanging)?.lastIndex
}
