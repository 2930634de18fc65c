import { KEYS } from '../../storage/keys/key-families.js'
import type { Frame, ReplicableStore } from '../../storage/keys/replicable.js'
import { changedFilters } from '../filter/changed-filters.js'

/**
 * The index of the last of these frames in which one of these filters changes. A secondary that is sent them was away, and what
 * it has of the entries before may lack what was held back for a while, though the filter is now what it was.
 */
export const findFilterChange = (
  store: Pick<ReplicableStore, 'decodeFrame'>,
  frames: readonly Frame[],
  ids: readonly string[],
): number | undefined => {
  const isChanging = (frame: Frame) =>
    frame.hasReplicated &&
    // Most frames have no filter at all, and need not be decoded.
    frame.bytes.includes(KEYS.filters) &&
    changedFilters(store.decodeFrame(frame)).some((id) => ids.includes(id))
  return frames.findLast(isChanging)?.lastIndex
}
