import { SHORT_HASH_BYTES as HASH } from '../../crypto/digest.js'
import type { SubPageChange } from '../change.js'
import type { Engine, EngineBatch, EngineSnapshot } from '../engine/engine.js'
import { prefixRange } from '../engine/engine.js'
import { decodeFrame } from '../log/frame.js'
import { NO_LEAF, subPageOf, xorInto, xorOf } from './leaf.js'
import { MerkleTree, PAGE_BYTES, SUB_PAGES } from './merkle.js'
import type { Tree } from '../keys.js'
import { heldKey, heldPrefix, LEAF_KEY_START, leafPrefix, pageKey, pagePrefix } from '../raw-keys.js'
import type { Frame, HeldHash } from '../replicable.js'

export const TREES: readonly Tree[] = ['replicated', 'local']

/** Both merkle trees with what is held back from this cluster, as of the last commit. */
export class Trees {
  readonly replicated = new MerkleTree()
  readonly local = new MerkleTree()
  readonly #held: Record<Tree, Map<number, Buffer>> = { replicated: new Map(), local: new Map() }

  apply(changes: Iterable<SubPageChange>): void {
    for (const { tree, subPage, delta } of changes) this[tree].change(subPage, delta)
  }

  /** True when no stored key is in the sub-page. */
  isEmpty(tree: Tree, subPage: number): boolean {
    return this[tree].isZero(subPage) && !this.#held[tree].has(subPage)
  }

  /** 1 for each sub-page that a stored key is in. */
  usedSubPages(tree: Tree): Uint8Array {
    const used = this[tree].usedSubPages()
    for (const subPage of this.#held[tree].keys()) used[subPage] = 1
    return used
  }

  held(tree: Tree, subPage: number): Buffer | undefined {
    return this.#held[tree].get(subPage)
  }

  setHeld({ tree, subPage, hash }: HeldHash): void {
    if (hash.equals(NO_LEAF)) this.#held[tree].delete(subPage)
    else this.#held[tree].set(subPage, hash)
  }

  /** What setting a held-back hash does to its sub-page. */
  heldDelta({ tree, subPage, hash }: HeldHash): SubPageChange {
    return { tree, subPage, delta: xorOf(this.held(tree, subPage) ?? NO_LEAF, hash) }
  }

  /** Writes the pages that changed since the last checkpoint; call the result when the batch is durable. */
  putCheckpoint(batch: EngineBatch, pending: readonly SubPageChange[] = []): () => void {
    // What the same batch changes is not in the trees yet, but belongs into its checkpoint.
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

  /** Reads the pages of the last checkpoint and what is held back. */
  async load(engine: Engine): Promise<void> {
    await this.#loadHeld(engine)
    for (const tree of TREES) {
      for await (const chunk of engine.scan(prefixRange(pagePrefix(tree)))) {
        for (const { key, value } of chunk) {
          if (value.length === PAGE_BYTES) this[tree].loadPage(Number.parseInt(key.slice(2), 16), value)
        }
      }
    }
  }

  /** Computes the trees from the leaf hashes on disk: for when there is no usable checkpoint. */
  async loadFromLeaves(engine: Engine): Promise<void> {
    await this.#loadHeld(engine)
    for (const tree of TREES) {
      const hashes = await sumLeaves(engine, tree)
      for (const [subPage, held] of this.#held[tree]) xorInto(hashes, subPage * HASH, held)
      for (let subPage = 0; subPage < SUB_PAGES; subPage++) {
        const hash = hashes.subarray(subPage * HASH, (subPage + 1) * HASH)
        this[tree].setSubPage(subPage, hash)
      }
    }
  }

  /** Takes over what a frame behind the checkpoint did. */
  replay(frame: Frame): void {
    for (const { operations } of decodeFrame(frame)) {
      for (const { key, category, delta, held } of operations) {
        this[category].change(held?.subPage ?? subPageOf(key), delta)
      }
    }
  }

  async #loadHeld(engine: Engine): Promise<void> {
    for (const tree of TREES) {
      for await (const chunk of engine.scan(prefixRange(heldPrefix(tree)))) {
        for (const { key, value } of chunk) this.#held[tree].set(Number.parseInt(key.slice(2), 16), value)
      }
    }
  }
}

/** XOR of the leaf hashes on disk for every sub-page of a tree. */
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

/** Held-back hashes after a batch of changes to them. */
export const nextHeld = (trees: Trees, deltas: readonly SubPageChange[]): HeldHash[] => {
  const next = new Map<string, HeldHash>()
  for (const { tree, subPage, delta } of deltas) {
    const key = heldKey(tree, subPage)
    const before = next.get(key)?.hash ?? trees.held(tree, subPage) ?? NO_LEAF
    next.set(key, { tree, subPage, hash: xorOf(before, delta) })
  }
  return [...next.values()]
}

export const putHeld = (batch: EngineBatch, { tree, subPage, hash }: HeldHash): void => {
  const key = heldKey(tree, subPage)
  if (hash.equals(NO_LEAF)) batch.delete(key)
  else batch.put(key, hash)
}
