import { decodeFrame, encodeEntry, encodeFrame, epochOf } from '../../storage/log/frame.js'
import type { Frame, WalEntry, WalOperation } from '../../storage/keys/replicable.js'
import { subPageOf } from '../../storage/trees/leaf.js'
import type { FrameSliceMessage } from '../rpc/messages.js'
import type { KeyFilter, Kind } from '../model/types.js'

/** Which part of the log one secondary may receive, by its kind and its filter. */
export interface Audience {
  readonly kind: Kind
  /** If undefined, the secondary receives all data of its kind. */
  readonly filter: KeyFilter | undefined
}

const NOTHING = Buffer.alloc(0)

/**
 * Returns the slice of a frame for one secondary:
 * - the original bytes, if the secondary may receive all of them
 * - a re-encoded frame without local keys and with hashes in place of filtered keys, if it may receive some
 * - only the log position, if it may receive none
 */
export const sliceOf = (frame: Frame, audience: Audience): FrameSliceMessage => {
  const position = { first_index: frame.firstIndex, last_index: frame.lastIndex, hash: frame.hash }
  if (audience.kind === 'dr') return { ...position, frame: frame.bytes }
  if (!frame.hasReplicated) return { ...position, frame: NOTHING }
  if (!frame.hasLocal && audience.filter === undefined) return { ...position, frame: frame.bytes }
  return { ...position, frame: rewrite(frame, audience.filter) }
}

const rewrite = (frame: Frame, filter: KeyFilter | undefined): Buffer => {
  const entries = decodeFrame(frame).map((entry) => strip(entry, filter))
  const head = {
    firstIndex: frame.firstIndex,
    previousHash: frame.previousHash,
    epoch: epochOf(frame),
    timeMs: frame.timeMs,
    hasReplicated: true,
    hasLocal: false,
  }
  return encodeFrame(head, entries).bytes
}

/** Returns an entry without local keys. An operation on a filtered key keeps only its effect on the sub-page. */
const strip = (entry: WalEntry, filter: KeyFilter | undefined): Buffer => {
  const operations: WalOperation[] = []
  let isChanged = false
  for (const operation of entry.operations) {
    if (operation.category === 'local') {
      isChanged = true
    } else if (operation.filtered || filter === undefined || filter.shows(operation.key)) {
      operations.push(operation)
    } else {
      isChanged = true
      operations.push(filterOut(operation))
    }
  }
  return isChanged || !entry.bytes ? encodeEntry(operations) : entry.bytes
}

const filterOut = (operation: WalOperation): WalOperation => ({
  key: '',
  category: operation.category,
  value: undefined,
  delta: operation.delta,
  filtered: { subPage: subPageOf(operation.key) },
})

/** Adds a slice to a message. Merges adjacent slices without content. */
export const addSlice = (slices: FrameSliceMessage[], slice: FrameSliceMessage): void => {
  const last = slices[slices.length - 1]
  if (last && last.frame.length === 0 && slice.frame.length === 0) {
    slices[slices.length - 1] = { ...slice, first_index: last.first_index }
  } else {
    slices.push(slice)
  }
}
