import { KEYS } from '../../storage/keys/key-families.js'
import type { Frame, ReplicableStore } from '../../storage/keys/replicable.js'
import { changedFilters } from '../filter/changed-filters.js'

/**
 * Returns the index of the last of these frames that changes one of these filters. The secondary was disconnected
 * during the change. It may lack entries that were withheld for a time, even if the filter is now the same as before.
 */
export const findFilterChange = (
  store: Pick<ReplicableStore, 'decodeFrame'>,
  frames: readonly Frame[],
  ids: readonly string[],
): number | undefined => {
  const isChanging = (frame: Frame) =>
    frame.hasReplicated &&
    // Most frames contain no filter and need no decoding.
    frame.bytes.includes(KEYS.filters) &&
    changedFilters(store.decodeFrame(frame)).some((id) => ids.includes(id))
  return frames.findLast(isChanging)?.lastIndex
}
