import type { Random } from '../../base/random.js'
import type { Engine } from '../engine/engine.js'
import { STATE_KEY } from '../keys/raw-keys.js'
import { freshHash, freshState, serializeState } from '../state/store-state.js'

/**
 * Lets a store that was never used begin behind an index, so that what it becomes never counts backwards. The hash there
 * is one that no follower has.
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
