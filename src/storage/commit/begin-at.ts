import type { Random } from '../../base/random.js'
import type { Engine } from '../engine/engine.js'
import { STATE_KEY } from '../keys/raw-keys.js'
import { freshHash, freshState, serializeState } from '../state/store-state.js'

/**
 * Starts the log of a new store after a given index, so that indexes never decrease. No follower has the hash at that
 * index.
 */
export const beginStoreAt = async (
  engine: Engine,
  random: Random,
  { index, epoch }: { readonly index: number; readonly epoch: string },
): Promise<void> => {
  const base = { index, hash: freshHash(random) }
  const state = {
    ...freshState(random),
    base,
    last: base,
    lastReplicatedIndex: index,
    lastShippedIndex: index,
    checkpoint: undefined,
    epoch,
  }
  const batch = engine.batch()
  batch.put(STATE_KEY, serializeState(state))
  await batch.write({ isDurable: true })
}
