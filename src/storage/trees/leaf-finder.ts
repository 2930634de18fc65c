import { type FindLeaf, indexKey } from './change.js'
import type { Engine } from '../engine/engine.js'
import type { Tree } from '../keys/key-families.js'

/** Maximum number of leaves in each of the two halves of the cache (recent and older). */
const REMEMBERED_MAX = 16_384

/** Finds the committed leaf hash of a key. Recently written keys and keys in empty sub-pages need no disk lookup. */
export class LeafFinder {
  readonly #engine: Engine
  readonly #isEmpty: (tree: Tree, subPage: number) => boolean
  /**
   * Leaf hashes by key, as strings of one byte per character; empty for a key without a leaf. Buffers would keep the
   * larger buffers from which they were sliced in memory.
   */
  #recent = new Map<string, string>()
  #older = new Map<string, string>()

  constructor(engine: Engine, isEmpty: (tree: Tree, subPage: number) => boolean) {
    this.#engine = engine
    this.#isEmpty = isEmpty
  }

  find: FindLeaf = (key, tree, subPage) => {
    const text = this.#recent.get(key) ?? this.#older.get(key)
    if (text !== undefined) return text === '' ? undefined : Buffer.from(text, 'latin1')
    return this.#isEmpty(tree, subPage) ? undefined : this.#engine.get(indexKey(tree, subPage, key))
  }

  /** Caches the leaf of a committed change. */
  remember(key: string, leaf: Buffer | undefined): void {
    this.#recent.set(key, leaf?.toString('latin1') ?? '')
    if (this.#recent.size < REMEMBERED_MAX) return
    this.#older = this.#recent
    this.#recent = new Map()
  }

  clear(): void {
    this.#recent.clear()
    this.#older.clear()
  }
}
