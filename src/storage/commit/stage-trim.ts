import type { EngineBatch } from '../engine/engine.js'
import { walKey } from '../keys/raw-keys.js'
import type { Staged } from './stage.js'
import type { StoreState } from '../state/store-state.js'
import type { Trees } from '../trees/trees.js'
import type { Wal } from '../log/wal.js'

/**
 * Removes the oldest frames and what a cut left behind. The merkle pages are written first when the log is trimmed past
 * their checkpoint: frames behind a checkpoint are what start-up replays. Undefined when nothing is to be removed.
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
  if (hash === undefined) throw new Error(`no frame ends at ${index}`)
  return Buffer.from(hash)
}

/** Writes the merkle pages as they are, so that the next start has nothing to replay. */
export const stageCheckpoint = (batch: EngineBatch, state: StoreState, trees: Trees): Staged | undefined => {
  if (state.checkpoint === state.last.index) return undefined
  const after = trees.putCheckpoint(batch)
  return { state: { ...state, checkpoint: state.last.index }, changes: [], filtered: [], after }
}
