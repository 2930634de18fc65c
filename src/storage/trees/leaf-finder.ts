import { type FindLeaf, indexKey } from './change.js'
import type { Engine } from '../engine/engine.js'
import type { Tree } from '../keys/key-families.js'

/** Leaves of one generation of the memory; two are kept. */
const REMEMBERED_MAX = 16_384

/**
 * The committed leaf hash of a key, found without a look-up on disk where that is possible: for keys written lately,
 * and in sub-pages that are empty.
 */
export class LeafFinder {
  readonly #engine: Engine
  readonly #isEmpty: (tree: Tree, subPage: number) => boolean
  /**
   * As texts of one byte a character, empty for a key without a leaf: a small buffer would hold on to the memory it was
   * cut from.
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

  /** Takes the leaf of a change that is durable. */
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
