import { SHORT_HASH_BYTES as HASH } from '../../crypto/digest.js'
import type { SubPageChange } from '../change.js'
import { indexKey } from '../change.js'
import type { Committer } from '../commit/committer.js'
import type { StageFunction } from '../commit/stage.js'
import { type Engine, type EngineSnapshot, prefixRange } from '../engine/engine.js'
import { type Frozen, freeze } from '../freeze.js'
import { leafHash, NO_LEAF, subPageOf, xorInto, xorOf } from './leaf.js'
import { categoryOf, findCategory, type Tree } from '../key-families.js'
import { DATA_PREFIX, dataKey, filteredKey, LEAF_KEY_START, subPagePrefix } from '../raw-keys.js'
import type { CorruptPages, RebuildOptions, TreeReport } from '../replicable.js'
import { compareTrees, reportPages, type SubPages, type Sums } from './tree-sums.js'
import { TREES } from './trees.js'

/** A key whose leaf record is not what the data said at the scan. */
interface WrongLeaf {
  readonly tree: Tree
  readonly subPage: number
  readonly key: string
}

/** Compares the trees and the leaf records with the data, and repairs them, while the store goes on working. */
export class TreeScan {
  readonly #engine: Engine
  readonly #committer: Committer

  constructor(engine: Engine, committer: Committer) {
    this.#engine = engine
    this.#committer = committer
  }

  async examine(signal?: AbortSignal): Promise<TreeReport> {
    const frozen = freeze(this.#engine, this.#committer)
    try {
      const options = signal === undefined ? {} : { signal }
      const { corrupt, damage } = await compareTrees(this.#engine, frozen.snapshot, frozen.trees, options)
      return { pages: reportPages(corrupt), damage: [...(await this.#engine.findDamage()), ...damage] }
    } finally {
      await frozen.snapshot.close()
    }
  }

  async rebuild(options: RebuildOptions): Promise<Record<Tree, CorruptPages>> {
    const frozen = freeze(this.#engine, this.#committer)
    const touched = new Set<string>()
    const stop = this.#committer.onCommit(({ mutations }) => {
      for (const { key } of mutations) touched.add(key)
    })
    try {
      const { sums, corrupt, unindexed } = await compareTrees(this.#engine, frozen.snapshot, frozen.trees, options)
      const wrong = await this.#findWrongLeaves(frozen.snapshot, unindexed)
      const repair = this.#stageRepair({ frozen, sums, corrupt, wrong, touched, skipFlush: options.skipFlush ?? false })
      await this.#committer.run(repair)
      return reportPages(corrupt)
    } finally {
      stop()
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
        const tree = findCategory(key) ?? 'ignored'
        const subPage = subPageOf(key)
        if (tree === 'ignored' || !suspects[tree].has(subPage)) continue
        const leaf = this.#engine.get(indexKey(tree, subPage, key), snapshot)
        if (!leaf?.equals(leafHash(key, value))) wrong.push({ tree, subPage, key })
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
      for (const { key: rawKey } of chunk) {
        const key = rawKey.slice(LEAF_KEY_START)
        const exists = this.#engine.get(dataKey(key), snapshot) !== undefined
        if (!exists) wrong.push({ tree, subPage, key })
      }
    }
    return wrong
  }

  /** Runs alone in the writer, some commits after the scan, and so adds what those did to the sub-pages it repairs. */
  #stageRepair({ frozen, sums, corrupt, wrong, touched, skipFlush }: Repair): StageFunction {
    return (batch, state, trees) => {
      const later = this.#changesSince(frozen.snapshot, touched)
      const changes: SubPageChange[] = []
      for (const tree of TREES) {
        for (const subPage of corrupt[tree]) {
          const right = Buffer.from(sums[tree].subarray(subPage * HASH, (subPage + 1) * HASH))
          for (const delta of later[tree].get(subPage) ?? []) xorInto(right, 0, delta)
          xorInto(right, 0, this.#engine.get(filteredKey(tree, subPage), frozen.snapshot) ?? NO_LEAF)
          xorInto(right, 0, trees.filtered(tree, subPage) ?? NO_LEAF)
          changes.push({ tree, subPage, delta: xorOf(trees[tree].subPage(subPage), right) })
        }
      }
      for (const { tree, subPage, key } of wrong) {
        const leaf = this.#leafNow(key)
        if (leaf === undefined) batch.delete(indexKey(tree, subPage, key))
        else batch.put(indexKey(tree, subPage, key), leaf)
      }
      if (changes.length === 0) return undefined
      if (skipFlush) {
        // Pages on disk are no longer to be trusted: a start before the next checkpoint goes by the leaves.
        return { state: { ...state, checkpoint: undefined }, changes, filtered: [] }
      }
      const after = trees.putCheckpoint(batch, changes)
      return { state: { ...state, checkpoint: state.last.index }, changes, filtered: [], after }
    }
  }

  /** Changes of keys since the snapshot: old leaf XOR new leaf, by sub-page. */
  #changesSince(snapshot: EngineSnapshot, touched: ReadonlySet<string>): Record<Tree, Map<number, Buffer[]>> {
    const found: Record<Tree, Map<number, Buffer[]>> = { replicated: new Map(), local: new Map() }
    for (const key of touched) {
      const tree = categoryOf(key)
      if (tree === 'ignored') continue
      const subPage = subPageOf(key)
      const delta = xorOf(this.#leafNow(key, snapshot) ?? NO_LEAF, this.#leafNow(key) ?? NO_LEAF)
      found[tree].set(subPage, [...(found[tree].get(subPage) ?? []), delta])
    }
    return found
  }

  #leafNow(key: string, snapshot?: EngineSnapshot): Buffer | undefined {
    const value = this.#engine.get(dataKey(key), snapshot)
    return value === undefined ? undefined : leafHash(key, value)
  }
}

interface Repair {
  readonly frozen: Frozen
  readonly sums: Sums
  readonly corrupt: SubPages
  readonly wrong: readonly WrongLeaf[]
  /** Keys of commits since the scan began. */
  readonly touched: ReadonlySet<string>
  readonly skipFlush: boolean
}
