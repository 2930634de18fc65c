import { SHORT_HASH_BYTES as HASH, shortHashInto } from '../../crypto/digest.js'
import type { SubPageChange } from '../trees/change.js'
import { xorInto } from '../trees/leaf.js'
import { SUB_PAGES } from '../trees/merkle.js'
import type { Tree } from '../keys/key-families.js'

const HASHES_PER_POOL = 4096

interface CopiedLeaf {
  readonly key: string
  readonly subPage: number
  readonly leaf: Buffer
}

/**
 * The keys and tree changes of one import of a first copy. Stores them in columns and creates change objects on
 * iteration, because many keys stay in memory until the import is written.
 */
export class CopiedKeys implements Iterable<SubPageChange> {
  readonly keys: string[] = []
  readonly #subPages: number[] = []
  readonly #hashes: Buffer[] = []
  /** The buffer for the hashes of the next keys. */
  #pool = Buffer.alloc(0)
  #tree: Tree | undefined
  /** Number of the first key of each run of keys of the same tree. */
  readonly #stretches: { readonly tree: Tree; readonly from: number }[] = []
  /** Leaf hashes of the keys that already existed, by number of the key. Their entry in `#hashes` is the delta. */
  readonly #replacing = new Map<number, Buffer>()

  /** Adds a key with its packed entry. The hash of the entry is the leaf hash, and also the delta of a new key. */
  add(tree: Tree, key: string, subPage: number, entry: Buffer): void {
    const n = this.keys.length
    const inPool = n % HASHES_PER_POOL
    if (n === 0 || tree !== this.#tree) this.#begin(tree)
    if (inPool === 0) {
      this.#pool = Buffer.allocUnsafe(HASHES_PER_POOL * HASH)
      this.#hashes.push(this.#pool)
    }
    shortHashInto(this.#pool, inPool * HASH, entry)
    this.keys.push(key)
    this.#subPages.push(subPage)
  }

  /** Records that the last added key already existed with the leaf hash `before`. */
  replace(before: Buffer): void {
    const last = this.keys.length - 1
    this.#replacing.set(last, Buffer.from(this.#hash(last)))
    xorInto(this.#hash(last), 0, before)
  }

  /** Yields the leaves of a tree in the order of their sub-pages, which is the fastest order for the engine. */
  *leaves(tree: Tree): Generator<CopiedLeaf> {
    for (const { from, to } of this.#stretchesOf(tree)) {
      for (const offset of orderOf(this.#subPages, from, to)) {
        const n = from + offset
        const leaf = this.#replacing.get(n) ?? this.#hash(n)
        yield { key: this.keys[n] ?? '', subPage: this.#subPages[n] ?? 0, leaf }
      }
    }
  }

  *[Symbol.iterator](): Generator<SubPageChange> {
    for (const { tree, from, to } of this.#stretchesOf()) {
      for (let n = from; n < to; n++) yield { tree, subPage: this.#subPages[n] ?? 0, delta: this.#hash(n) }
    }
  }

  #begin(tree: Tree): void {
    this.#tree = tree
    this.#stretches.push({ tree, from: this.keys.length })
  }

  #stretchesOf(tree?: Tree): { readonly tree: Tree; readonly from: number; readonly to: number }[] {
    return this.#stretches
      .map((stretch, i) => ({ ...stretch, to: this.#stretches[i + 1]?.from ?? this.keys.length }))
      .filter((stretch) => tree === undefined || stretch.tree === tree)
  }

  #hash(n: number): Buffer {
    const at = (n % HASHES_PER_POOL) * HASH
    const pool = this.#hashes[Math.floor(n / HASHES_PER_POOL)]
    if (pool === undefined) throw new Error(`the copy has no key at position ${n}`)
    return pool.subarray(at, at + HASH)
  }
}

/**
 * Returns the numbers of the items from `from` to `to`, relative to `from` and sorted by sub-page. Uses a counting
 * sort, because sub-page numbers are small.
 */
const orderOf = (subPages: readonly number[], from: number, to: number): Uint32Array => {
  const ends = new Uint32Array(SUB_PAGES)
  for (let n = from; n < to; n++) increase(ends, subPages[n] ?? 0, 1)
  for (let subPage = 1; subPage < SUB_PAGES; subPage++) increase(ends, subPage, ends[subPage - 1] ?? 0)
  const order = new Uint32Array(to - from)
  for (let n = to - 1; n >= from; n--) order[increase(ends, subPages[n] ?? 0, -1)] = n - from
  return order
}

const increase = (counts: Uint32Array, at: number, by: number): number => {
  const count = (counts[at] ?? 0) + by
  counts[at] = count
  return count
}
