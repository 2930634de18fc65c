import type { Committer } from './committer.js'
import type { Engine, EngineSnapshot } from '../engine/engine.js'
import type { MerkleTree } from '../trees/merkle.js'
import type { Tree } from '../keys/key-families.js'
import { STATE_KEY } from '../keys/raw-keys.js'
import { LogicalError } from '../../logical/errors.js'
import { parseState, type StoreState } from '../state/store-state.js'

export interface Frozen {
  readonly snapshot: EngineSnapshot
  readonly state: StoreState
  readonly trees: Readonly<Record<Tree, MerkleTree>>
}

/**
 * Freezes data and trees at one index. The engine's snapshot contains the batch in flight completely or not at all. The
 * state record in the snapshot shows which of the two applies, and the frozen trees are adapted to it. After a failed
 * batch, the snapshot may contain that batch while the trees do not, so no consistent index exists. Until the engine is
 * reopened, throws `LogicalError` `unavailable` in this case.
 */
export const freeze = (engine: Engine, committer: Committer): Frozen => {
  const snapshot = engine.snapshot()
  const bytes = engine.get(STATE_KEY, snapshot)
  if (bytes === undefined) throw new Error('the engine has no state record')
  const state = parseState(bytes)
  const trees = { replicated: committer.trees.replicated.frozen(), local: committer.trees.local.frozen() }
  if (state.revision !== committer.state.revision) {
    const { inFlight } = committer
    if (!inFlight) {
      void snapshot.close().catch(() => undefined)
      throw new LogicalError('unavailable', 'the storage failed: its content is unknown until it is reopened')
    }
    for (const { tree, subPage, delta } of inFlight.changes) trees[tree].change(subPage, delta)
  }
  return { snapshot, state, trees }
}
