import { SHORT_HASH_BYTES as HASH } from '../crypto/digest.js'
import type { SubPageChange } from './change.js'
import { indexKey } from './change.js'
import type { Committer, Stage } from './committer.js'
import { type Engine, type EngineSnapshot, prefixRange } from './engine.js'
import { type Frozen, freeze } from './freeze.js'
import { leafHash, NO_LEAF, subPageOf, xorOf } from './leaf.js'
import { categoryOf, type Tree } from './prefixes.js'
import { DATA_PREFIX, dataKey, LEAF_KEY_START, subPagePrefix } from './raw-keys.js'
import type { CorruptPages, RebuildOptions } from './replicable.js'
import { compareTrees, reportPages, type SubPages, type Sums } from './tree-sums.js'
import { TREES } from './trees.js'

/** A leaf record that is not what the data says, as of the scan. */
interface WrongLeaf {
  readonly tree: Tree
  readonly subPage: number
  readonly key: string
  readonly was: Buffer | undefined
  readonly is: Buffer | undefined
}

/** Compares the trees and the leaf records with the data, and repairs them, while the store goes on working. */
export class TreeScan {
  readonly #engine: Engine
  readonly #committer: Committer

  constructor(engine: Engine, committer: Committer) {
    this.#engine = engine
    this.#committer = committer
  }

  async check(signal?: AbortSignal): Promise<Record<Tree, CorruptPages>> {
    const frozen = freeze(this.#engine, this.#committer)
    try {
      const options = signal === undefined ? {} : { signal }
      const { corrupt } = await compareTrees(this.#engine, frozen.snapshot, frozen.trees, options)
      return reportPages(corrupt)
    } finally {
      await frozen.snapshot.close()
    }
  }

  async rebuild(options: RebuildOptions): Promise<Record<Tree, CorruptPages>> {
    const frozen = freeze(this.#engine, this.#committer)
    try {
      const { sums, corrupt, unindexed } = await compareTrees(this.#engine, frozen.snapshot, frozen.trees, options)
      const wrong = await this.#findWrongLeaves(frozen.snapshot, unindexed)
      await this.#committer.run(this.#stageRepair(frozen, sums, corrupt, wrong, options.skipFlush ?? false))
      return reportPages(corrupt)
    } finally {
      await frozen.snapshot.close()
    }
  }

  async #findWrongLeaves(snapshot: EngineSnapshot, unindexed: SubPages): Promise<WrongLeaf[]> {
    if (TREES.every((tree) => unindexed[tree].length === 0)) return []
    const suspects = { replicated: new Set(unindexed.replicated), local: new Set(unindexed.local) }
    const wrong: WrongLeaf[] = []
    for await (const chunk of this.#engine.scan(prefixRange(DATA_PREFIX), { snapshot })) {
      for (const { key: rawKey, value } of chunk) {
        const key = rawKey.slice(DATA_PREFIX.length)
        const tree = categoryOf(key)
        const subPage = subPageOf(key)
        if (tree === 'ignored' || !suspects[tree].has(subPage)) continue
        const was = this.#engine.get(indexKey(tree, subPage, key), snapshot)
        const is = leafHash(key, value)
        if (!was?.equals(is)) wrong.push({ tree, subPage, key, was, is })
      }
    }
    for (const tree of TREES) {
      for (const subPage of unindexed[tree]) wrong.push(...(await this.#findExtraLeaves(snapshot, tree, subPage)))
    }
    return wrong
  }

  /** Leaf records of keys that do not exist. */
  async #findExtraLeaves(snapshot: EngineSnapshot, tree: Tree, subPage: number): Promise<WrongLeaf[]> {
    const wrong: WrongLeaf[] = []
    for await (const chunk of this.#engine.scan(prefixRange(subPagePrefix(tree, subPage)), { snapshot })) {
      for (const { key: rawKey, value: was } of chunk) {
        const key = rawKey.slice(LEAF_KEY_START)
        const exists = this.#engine.get(dataKey(key), snapshot) !== undefined
        if (!exists) wrong.push({ tree, subPage, key, was, is: undefined })
      }
    }
    return wrong
  }

  /**
   * Runs alone in the writer, some commits after the scan. What those did to the trees is kept, since all of it are
   * XORs; only where they took a wrong leaf for a key's old one is their share put right as well.
   */
  #stageRepair(frozen: Frozen, sums: Sums, corrupt: SubPages, wrong: readonly WrongLeaf[], skipFlush: boolean): Stage {
    return (batch, state, trees) => {
      const changes: SubPageChange[] = []
      for (const tree of TREES) {
        for (const subPage of corrupt[tree]) {
          const right = sums[tree].subarray(subPage * HASH, (subPage + 1) * HASH)
          changes.push({ tree, subPage, delta: xorOf(frozen.trees[tree].subPage(subPage), right) })
        }
      }
      for (const { tree, subPage, key, was, is } of wrong) {
        const value = this.#engine.get(dataKey(key))
        const now = value === undefined ? undefined : leafHash(key, value)
        if (now === undefined) batch.delete(indexKey(tree, subPage, key))
        else batch.put(indexKey(tree, subPage, key), now)
        const wasTouched = !(now ?? NO_LEAF).equals(is ?? NO_LEAF)
        if (wasTouched) changes.push({ tree, subPage, delta: xorOf(was ?? NO_LEAF, is ?? NO_LEAF) })
      }
      if (changes.length === 0) return undefined
      if (skipFlush) {
        // Pages on disk are no longer to be trusted: a start before the next checkpoint goes by the leaves.
        return { state: { ...state, checkpoint: undefined }, changes, held: [] }
      }
      const after = trees.putCheckpoint(batch, changes)
      return { state: { ...state, checkpoint: state.last.index }, changes, held: [], after }
    }
  }
}
