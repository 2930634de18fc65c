import type { EngineBatch } from '../engine/engine.js'
import { walKey } from '../keys/raw-keys.js'
import type { Staged } from './stage.js'
import type { StoreState } from '../state/store-state.js'
import type { Trees } from '../trees/trees.js'
import type { Wal } from '../log/wal.js'

/**
 * Adds the removal of frames to a batch: the oldest frames beyond the retention, and the frames that remain from before
 * the log was cut. If this removes frames after the checkpoint, also writes the Merkle pages as a new checkpoint,
 * because the next start would need the removed frames. Returns undefined if there is nothing to remove.
 */
export const stageTrim = (
  batch: EngineBatch,
  state: StoreState,
  trees: Trees,
  wal: Wal,
  isPinned: boolean,
): Staged | undefined => {
  const { stale } = wal
  const excess = wal.excess(isPinned)
  const end = excess.at(-1)
  if (end === undefined && stale.length === 0) return undefined
  for (const index of stale) batch.delete(walKey(index))
  for (const index of excess) batch.delete(walKey(index))
  const base = end === undefined ? state.base : { index: end, hash: requireHash(wal, end) }
  wal.leave(base)
  const isBehind = state.checkpoint !== undefined && state.checkpoint < base.index
  const saved = isBehind ? trees.putCheckpoint(batch) : undefined
  return {
    state: { ...state, base, checkpoint: isBehind ? state.last.index : state.checkpoint },
    changes: [],
    filtered: [],
    after: () => {
      saved?.()
      wal.dropStale(stale.length)
      wal.dropOldest(excess.length, base)
    },
  }
}

const requireHash = (wal: Wal, index: number): Buffer => {
  const hash = wal.hashAt(index)
  if (hash === undefined) throw new Error(`no log frame ends at index ${index}`)
  return Buffer.from(hash)
}

/** Writes the current Merkle pages, so that the next start has nothing to replay. */
export const stageCheckpoint = (batch: EngineBatch, state: StoreState, trees: Trees): Staged | undefined => {
  if (state.checkpoint === state.last.index) return undefined
  const after = trees.putCheckpoint(batch)
  return { state: { ...state, checkpoint: state.last.index }, changes: [], filtered: [], after }
}
