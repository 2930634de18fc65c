import { LogicalError } from '../../logical/errors.js'
import type { RawOperation } from '../shared-log/raw-batch.js'
import type { Engine } from '../engine/engine.js'
import { parseFrameAtOnce } from '../log/frame.js'
import type { Loaded } from './load.js'
import {
  DATA_PREFIX,
  filteredPrefix,
  LEAF_KEY_START,
  leafPrefix,
  pagePrefix,
  STATE_KEY,
  WAL_PREFIX,
  walIndexOf,
} from '../keys/raw-keys.js'
import type { Frame, Mutation } from '../keys/replicable.js'
import { parseState, type StoreState } from '../state/store-state.js'
import { NO_LEAF, xorOf } from '../trees/leaf.js'
import { TREES } from '../trees/trees.js'
import type { SubPageChange } from '../trees/change.js'
import type { Tree } from '../keys/key-families.js'
import type { Pending } from './overlay.js'
import type { Staged } from './stage.js'

/** The changes of a store that applies a batch of another node. */
interface Followed {
  readonly staged: Staged & { readonly state: StoreState }
  /** The new Merkle leaves of the changed keys. */
  readonly leaves: readonly Pending[]
}

/**
 * Decodes a batch of another node before the store applies it. Derives all changes in memory from the batch's
 * operations on raw keys. The tree changes also depend on the current leaves and filtered hashes. The result has the
 * same effect on the store as a local batch. Throws `LogicalError` `internal` if the batch has no state or a damaged
 * frame.
 */
export const readFollowed = (operations: readonly RawOperation[], engine: Engine, loaded: Loaded): Followed => {
  const last = new Map(operations.map(({ key, value }) => [key, value]))
  const reader = new BatchReader(engine, loaded)
  for (const [key, value] of last) reader.read(key, value)
  const { frame, state, leaves, mutations, trimmed, pages } = reader
  if (!state) throw new LogicalError('internal', 'a batch of the shared log does not contain the store state')
  const { trees, wal } = loaded
  return {
    leaves,
    staged: {
      state,
      changes: reader.changes,
      filtered: reader.filtered,
      ...(frame === undefined ? {} : { frame }),
      commit: { lastIndex: state.last.index, mutations, origin: 'followed' },
      after: () => {
        wal.trimmed(trimmed, state.base)
        for (const { tree, page, record } of pages) {
          trees[tree].loadPage(page, record)
          trees[tree].markSaved([page])
        }
      },
    },
  }
}

class BatchReader {
  readonly changes: SubPageChange[] = []
  readonly filtered: { readonly tree: Tree; readonly subPage: number; readonly hash: Buffer }[] = []
  readonly leaves: Pending[] = []
  readonly mutations: Mutation[] = []
  readonly trimmed = new Set<number>()
  readonly pages: { readonly tree: Tree; readonly page: number; readonly record: Buffer }[] = []
  frame: Frame | undefined
  state: StoreState | undefined
  readonly #engine: Engine
  readonly #loaded: Loaded

  constructor(engine: Engine, loaded: Loaded) {
    this.#engine = engine
    this.#loaded = loaded
  }

  read(key: string, value: Buffer | undefined): void {
    if (key.startsWith(DATA_PREFIX)) this.mutations.push({ key: key.slice(DATA_PREFIX.length), value })
    else if (key === STATE_KEY) this.state = value && parseState(value)
    else if (key.startsWith(WAL_PREFIX)) this.#readFrame(key, value)
    else for (const tree of TREES) this.#readTree(tree, key, value)
  }

  #readFrame(key: string, value: Buffer | undefined): void {
    if (value === undefined) {
      this.trimmed.add(walIndexOf(key))
      return
    }
    // Without a copy, the frame would keep the whole buffer of the shared log entry in memory.
    this.frame = parseFrameAtOnce(Buffer.from(value))
    if (!this.frame) throw new LogicalError('internal', `log frame ${walIndexOf(key)} is damaged`)
  }

  #readTree(tree: Tree, key: string, value: Buffer | undefined): void {
    if (key.startsWith(leafPrefix(tree))) this.#readLeaf(tree, key, value)
    else if (key.startsWith(filteredPrefix(tree))) this.#readFiltered(tree, hexOf(key.slice(2)), value)
    else if (key.startsWith(pagePrefix(tree)) && value)
      this.pages.push({ tree, page: hexOf(key.slice(2)), record: value })
  }

  #readLeaf(tree: Tree, rawKey: string, leaf: Buffer | undefined): void {
    const key = rawKey.slice(LEAF_KEY_START)
    const before = this.#engine.get(rawKey)
    const delta = xorOf(before ?? NO_LEAF, leaf ?? NO_LEAF)
    this.changes.push({ tree, subPage: hexOf(rawKey.slice(2, LEAF_KEY_START)), delta })
    this.leaves.push({ key, value: undefined, leaf })
  }

  #readFiltered(tree: Tree, subPage: number, hash: Buffer = NO_LEAF): void {
    const one = { tree, subPage, hash }
    this.filtered.push(one)
    this.changes.push(this.#loaded.trees.filteredDelta(one))
  }
}

const hexOf = (text: string): number => Number.parseInt(text, 16)
