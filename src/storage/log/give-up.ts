import type { Engine } from '../engine/engine.js'
import { STATE_KEY, WAL_PREFIX, walIndexOf, walKey } from '../keys/raw-keys.js'
import type { WalPosition } from '../keys/replicable.js'
import { type StoreState, serializeState } from '../state/store-state.js'
import { parseFrame } from './frame.js'

/**
 * Resolves to the position after the last break in the hash chain of the log, or to undefined if there is no break. The
 * log can be discarded up to this position, because the data and the leaf records (from which the trees are computed)
 * are stored outside of the log. Also resolves to undefined if the log continues after the last index of `state`,
 * because the state is then damaged.
 */
export const findBreak = async (engine: Engine, state: StoreState): Promise<WalPosition | undefined> => {
  let base = state.base
  let end: WalPosition | undefined = base
  for await (const chunk of engine.scan({ gt: walKey(base.index), lt: `${WAL_PREFIX}~` })) {
    for (const { key, value } of chunk) {
      if (walIndexOf(key) > state.last.index) return undefined
      const frame = await parseFrame(value)
      if (frame && !(frame.firstIndex - 1 === end?.index && frame.previousHash.equals(end.hash))) {
        base = { index: frame.firstIndex - 1, hash: frame.previousHash }
      }
      end = frame && { index: frame.lastIndex, hash: frame.hash }
    }
  }
  const isWhole = end?.index === state.last.index && end.hash.equals(state.last.hash)
  if (!isWhole) return state.last
  return base === state.base ? undefined : base
}

/** Deletes the frames up to `base` and records the new start of the log in one batch. Resolves to the new state. */
export const discardLogUpTo = async (engine: Engine, state: StoreState, base: WalPosition): Promise<StoreState> => {
  const isReplayable = state.checkpoint !== undefined && state.checkpoint >= base.index
  const next: StoreState = {
    ...state,
    revision: state.revision + 1,
    base: { index: base.index, hash: Buffer.from(base.hash) },
    checkpoint: isReplayable ? state.checkpoint : undefined,
  }
  const batch = engine.batch()
  for await (const chunk of engine.scan({ gte: WAL_PREFIX, lte: walKey(base.index) }, { values: false })) {
    for (const { key } of chunk) batch.delete(key)
  }
  batch.put(STATE_KEY, serializeState(next))
  await batch.write({ isDurable: true })
  return next
}
