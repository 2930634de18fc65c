import type { Random } from '../../base/random.js'
import { LogicalError } from '../../logical/errors.js'
import type { CommitLog } from '../shared-log/commit-log.js'
import { type Engine, prefixRange } from '../engine/engine.js'
import { DATA_PREFIX, STATE_KEY } from '../keys/raw-keys.js'
import { freshHash, freshState, parseState, type StoreState, serializeState } from '../state/store-state.js'
import { Trees } from '../trees/trees.js'
import { Wal } from '../log/wal.js'
import type { CompleteStoreOptions } from '../state/store-options.js'

export interface Loaded {
  readonly state: StoreState
  readonly trees: Trees
  readonly wal: Wal
}

type LoadOptions = Pick<
  CompleteStoreOptions,
  'engine' | 'commitLog' | 'walRetentionEntries' | 'walRetentionBytes' | 'ringBytes'
>

/**
 * Loads the state, the log and the trees from an engine, and verifies the hash chain of the log. The trees are those of
 * the last checkpoint plus the frames after it. Without a checkpoint, rebuilds the trees from their leaves. Writes the
 * initial state to a new engine, unless the store has a shared log. Rejects with `LogicalError` `internal` for damaged
 * data.
 */
export const loadStore = async (options: LoadOptions, random: Random): Promise<Loaded> => {
  const { engine, commitLog } = options
  const state = readState(engine) ?? (await beginState(engine, commitLog, random))
  // If the log is shared, the other nodes have the later commits.
  if (commitLog.isLocal) requireAcknowledged(engine, state)
  const trees = new Trees()
  const wal = new Wal(options)
  if (state.checkpoint === undefined) {
    await wal.load(state, () => undefined)
    await trees.loadFromLeaves(engine)
    return { state, trees, wal }
  }
  const { checkpoint } = state
  await trees.load(engine)
  await wal.load(state, (frame) => {
    if (frame.lastIndex > checkpoint) trees.replay(frame)
  })
  return { state, trees, wal }
}

/** Returns the stored state of an engine, or undefined if the engine has no state record. */
export const readState = (engine: Engine): StoreState | undefined => {
  const bytes = engine.get(STATE_KEY)
  return bytes === undefined ? undefined : parseState(bytes)
}

/** Throws `LogicalError` `internal` if the data ends before the acknowledged position, so that commits are lost. */
const requireAcknowledged = (engine: Engine, state: StoreState | undefined): void => {
  const { acknowledged } = engine
  if (!acknowledged) return
  if (state && state.revision >= acknowledged.revision) return
  const found = state ? `it ends at index ${state.last.index}` : 'it is empty'
  throw new LogicalError(
    'internal',
    `the data has lost its latest commits: index ${acknowledged.index} (batch ${acknowledged.revision}) was ` +
      `acknowledged, but ${found}${state ? ` (batch ${state.revision})` : ''}. Restore the files, or promote a ` +
      'secondary in its place. To continue without the lost commits, use "understudy storage adopt"',
  )
}

const beginState = async (engine: Engine, commitLog: CommitLog, random: Random): Promise<StoreState> => {
  for await (const chunk of engine.scan(prefixRange(DATA_PREFIX), { limit: 1 })) {
    if (chunk.length > 0)
      throw new LogicalError('internal', 'the data is damaged: the storage contains data, but no state record')
  }
  const state = freshState(random)
  if (!commitLog.isLocal) return state
  requireAcknowledged(engine, undefined)
  await writeState(engine, state)
  return state
}

const writeState = async (engine: Engine, state: StoreState): Promise<void> => {
  const batch = engine.batch()
  batch.put(STATE_KEY, serializeState(state))
  await batch.write({ isDurable: true })
}

/**
 * Starts the log of a new store after `index`, so that indexes never decrease. The hash at `index` is random, so that
 * no follower has this position.
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
  await writeState(engine, state)
}
