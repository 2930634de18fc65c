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
 * Loads the content of an engine: the state, the log with a verified chain, and the trees. The trees come from the last
 * checkpoint plus the frames after it. Writes the initial state to a new engine, unless the store follows another node.
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

/** Returns the state of an engine; undefined if the engine was never used. */
export const readState = (engine: Engine): StoreState | undefined => {
  const bytes = engine.get(STATE_KEY)
  return bytes === undefined ? undefined : parseState(bytes)
}

/** Throws if the data is behind the acknowledged position. It may be ahead. */
const requireAcknowledged = (engine: Engine, state: StoreState | undefined): void => {
  const { acknowledged } = engine
  if (!acknowledged) return
  if (state && state.revision >= acknowledged.revision) return
  const found = state ? `it ends at index ${state.last.index}` : 'it is empty'
  throw new LogicalError(
    'internal',
    `the data has lost its latest commits: it was acknowledged up to index ${acknowledged.index} (batch ${acknowledged.revision}) and ${found}` +
      `${state ? ` (batch ${state.revision})` : ''}. The server does not start with it. Restore the files, or promote a ` +
      'secondary in its place; to continue with the remaining data, and discard the rest, use "understudy storage adopt"',
  )
}

const beginState = async (engine: Engine, commitLog: CommitLog, random: Random): Promise<StoreState> => {
  for await (const chunk of engine.scan(prefixRange(DATA_PREFIX), { limit: 1 })) {
    if (chunk.length > 0) throw new LogicalError('internal', 'the storage contains data, but no state record')
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
  await writeState(engine, state)
}
