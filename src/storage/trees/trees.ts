import { SHORT_HASH_BYTES as HASH } from '../../crypto/digest.js'
import type { SubPageChange } from './change.js'
import { type Engine, type EngineBatch, type EngineSnapshot, prefixRange } from '../engine/engine.js'
import { decodeFrame } from '../log/frame.js'
import { NO_LEAF, subPageOf, xorInto, xorOf } from './leaf.js'
import { MerkleTree, PAGE_BYTES, SUB_PAGES } from './merkle.js'
import type { Tree } from '../keys/key-families.js'
import { filteredKey, filteredPrefix, LEAF_KEY_START, leafPrefix, pageKey, pagePrefix } from '../keys/raw-keys.js'
import type { Frame, FilteredHash } from '../keys/replicable.js'

export const TREES: readonly Tree[] = ['replicated', 'local']

/** The two Merkle trees and the filtered hashes in memory, as of the last commit. */
export class Trees {
  readonly replicated = new MerkleTree()
  readonly local = new MerkleTree()
  readonly #filtered: Record<Tree, Map<number, Buffer>> = { replicated: new Map(), local: new Map() }

  apply(changes: Iterable<SubPageChange>): void {
    for (const { tree, subPage, delta } of changes) this[tree].change(subPage, delta)
  }

  /** Returns true if the sub-page certainly contains no stored key. A sub-page with a filtered hash may contain one. */
  isEmpty(tree: Tree, subPage: number): boolean {
    return this[tree].isZero(subPage) && !this.#filtered[tree].has(subPage)
  }

  /** Returns an array with 1 for each sub-page that may contain a stored key. */
  usedSubPages(tree: Tree): Uint8Array {
    const used = this[tree].usedSubPages()
    for (const subPage of this.#filtered[tree].keys()) used[subPage] = 1
    return used
  }

  filtered(tree: Tree, subPage: number): Buffer | undefined {
    return this.#filtered[tree].get(subPage)
  }

  setFiltered({ tree, subPage, hash }: FilteredHash): void {
    if (hash.equals(NO_LEAF)) this.#filtered[tree].delete(subPage)
    else this.#filtered[tree].set(subPage, hash)
  }

  /** Returns the change of a sub-page hash that results from a new filtered hash. */
  filteredDelta({ tree, subPage, hash }: FilteredHash): SubPageChange {
    return { tree, subPage, delta: xorOf(this.filtered(tree, subPage) ?? NO_LEAF, hash) }
  }

  /** Adds the pages changed since the last checkpoint to a batch. The result must be called after the write. */
  putCheckpoint(batch: EngineBatch, pending: readonly SubPageChange[] = []): () => void {
    // Changes of the same batch are not in the trees yet, but must be in the checkpoint.
    const copies = pending.length > 0 ? { replicated: this.replicated.frozen(), local: this.local.frozen() } : this
    for (const { tree, subPage, delta } of pending) copies[tree].change(subPage, delta)
    const saved = TREES.map((tree) => {
      const pages = copies[tree].unsavedPages
      for (const page of pages) batch.put(pageKey(tree, page), Buffer.from(copies[tree].pageRecord(page)))
      return { tree, pages }
    })
    return () => {
      for (const { tree, pages } of saved) this[tree].markSaved(pages)
    }
  }

  /** Loads the pages of the last checkpoint and the filtered hashes. */
  async load(engine: Engine): Promise<void> {
    await this.#loadFiltered(engine)
    for (const tree of TREES) {
      for await (const chunk of engine.scan(prefixRange(pagePrefix(tree)))) {
        for (const { key, value } of chunk) {
          if (value.length === PAGE_BYTES) this[tree].loadPage(Number.parseInt(key.slice(2), 16), value)
        }
      }
    }
  }

  /** Computes the trees from the leaf hashes on disk, because there is no valid checkpoint. */
  async loadFromLeaves(engine: Engine): Promise<void> {
    await this.#loadFiltered(engine)
    for (const tree of TREES) {
      const hashes = await sumLeaves(engine, tree)
      for (const [subPage, filtered] of this.#filtered[tree]) xorInto(hashes, subPage * HASH, filtered)
      this[tree].loadSubPages(hashes)
    }
  }

  /** Applies the changes of a frame that is newer than the checkpoint. */
  replay(frame: Frame): void {
    for (const { operations } of decodeFrame(frame)) {
      for (const { key, category, delta, filtered } of operations) {
        this[category].change(filtered?.subPage ?? subPageOf(key), delta)
      }
    }
  }

  async #loadFiltered(engine: Engine): Promise<void> {
    for (const tree of TREES) this.#filtered[tree] = await readFiltered(engine, tree)
  }
}

/** Resolves to all nonzero filtered hashes of a tree, by sub-page. */
export const readFiltered = async (
  engine: Engine,
  tree: Tree,
  snapshot?: EngineSnapshot,
): Promise<Map<number, Buffer>> => {
  const filtered = new Map<number, Buffer>()
  for await (const chunk of engine.scan(prefixRange(filteredPrefix(tree)), snapshot ? { snapshot } : {})) {
    for (const { key, value } of chunk) filtered.set(Number.parseInt(key.slice(2), 16), value)
  }
  return filtered
}

/** Resolves to the XOR of the leaf hashes on disk, for every sub-page of a tree. */
export const sumLeaves = async (
  engine: Engine,
  tree: Tree,
  snapshot?: EngineSnapshot,
  onChunk: (entries: number) => void = () => undefined,
): Promise<Buffer> => {
  const hashes = Buffer.alloc(SUB_PAGES * HASH)
  const options = snapshot === undefined ? {} : { snapshot }
  for await (const chunk of engine.scan(prefixRange(leafPrefix(tree)), options)) {
    for (const { key, value } of chunk) {
      xorInto(hashes, Number.parseInt(key.slice(2, LEAF_KEY_START), 16) * HASH, value)
    }
    onChunk(chunk.length)
  }
  return hashes
}

/** Returns the filtered hashes that result from changes of them. */
export const nextFiltered = (trees: Trees, deltas: readonly SubPageChange[]): FilteredHash[] => {
  const next = new Map<string, FilteredHash>()
  for (const { tree, subPage, delta } of deltas) {
    const key = filteredKey(tree, subPage)
    const before = next.get(key)?.hash ?? trees.filtered(tree, subPage) ?? NO_LEAF
    next.set(key, { tree, subPage, hash: xorOf(before, delta) })
  }
  return [...next.values()]
}

export const putFiltered = (batch: EngineBatch, { tree, subPage, hash }: FilteredHash): void => {
  const key = filteredKey(tree, subPage)
  if (hash.equals(NO_LEAF)) batch.delete(key)
  else batch.put(key, hash)
}
