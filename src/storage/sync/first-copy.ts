import { indexKey } from '../trees/change.js'
import type { CommitLog } from '../shared-log/commit-log.js'
import { CopiedKeys } from './copied-keys.js'
import type { Engine, EngineBatch } from '../engine/engine.js'
import { subPageOf } from '../trees/leaf.js'
import { unpack } from './packed.js'
import { categoryOf, type Tree } from '../keys/key-families.js'
import { dataKey } from '../keys/raw-keys.js'
import type * as Repl from '../keys/replicable.js'
import type { Copied } from '../commit/stage.js'
import { TREES, type Trees } from '../trees/trees.js'

/** The data between two imports: a batch with values and leaves, and its tree changes. */
interface CopyStep {
  readonly batch: EngineBatch
  /** The engine version at the creation of the batch. If it has changed since, the batch must not be written. */
  readonly engineVersion: number | undefined
  readonly copied: Copied
}

/**
 * Copies the trees of another store into this nearly empty store. Incoming data is hashed and added to the next batch
 * while the previous batch is written. Existing keys are looked up only in the sub-pages that were not empty at the
 * start. If another writer changes keys of these trees during the copy, the root hashes differ at the end, and the
 * caller compares the trees.
 */
export class FirstCopy implements Repl.FirstCopy {
  readonly replaced = new Set<string>()
  readonly #engine: Engine
  readonly #log: Pick<CommitLog, 'batch'>
  readonly #isUsed: Readonly<Record<Tree, Uint8Array>>
  #batch: EngineBatch | undefined
  #engineVersion: number | undefined
  #copied = new CopiedKeys()
  #bytes = 0

  constructor(engine: Engine, trees: Trees, log: Pick<CommitLog, 'batch'>) {
    this.#engine = engine
    this.#log = log
    this.#isUsed = { replicated: trees.usedSubPages('replicated'), local: trees.usedSubPages('local') }
  }

  get length(): number {
    return this.#copied.keys.length
  }

  get bytes(): number {
    return this.#bytes
  }

  add(tree: Tree, packed: Buffer): void {
    if (packed.length === 0) return
    const batch = this.#batch ?? this.#begin()
    unpack(packed, (key, value, entry) => this.#put(batch, tree, key, value, entry))
    this.#bytes += packed.length
  }

  /** Returns the data that was added since the last call, or undefined if there is none. */
  take(): CopyStep | undefined {
    const batch = this.#batch
    const copied = this.#copied
    this.#reset()
    if (batch === undefined) return undefined
    for (const tree of TREES) {
      for (const { key, subPage, leaf } of copied.leaves(tree)) batch.put(indexKey(tree, subPage, key), leaf)
    }
    return { batch, engineVersion: this.#engineVersion, copied: { keys: copied.keys, changes: copied } }
  }

  discard(): void {
    this.#batch?.discard()
    this.#reset()
  }

  #begin(): EngineBatch {
    this.#batch = this.#log.batch()
    this.#engineVersion = this.#engine.engineVersion
    return this.#batch
  }

  #reset(): void {
    this.#batch = undefined
    this.#copied = new CopiedKeys()
    this.#bytes = 0
  }

  #put(batch: EngineBatch, tree: Tree, key: string, value: Buffer, entry: Buffer): void {
    if (categoryOf(key) !== tree) throw new Error('the copy of a tree contains a key of another tree')
    const subPage = subPageOf(key)
    this.#copied.add(tree, key, subPage, entry)
    batch.put(dataKey(key), value)
    const before = this.#isUsed[tree][subPage] ? this.#engine.get(indexKey(tree, subPage, key)) : undefined
    if (before === undefined) return
    this.#copied.replace(before)
    this.replaced.add(key)
  }
}
