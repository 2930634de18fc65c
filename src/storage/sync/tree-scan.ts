import { SHORT_HASH_BYTES as HASH } from '../../crypto/digest.js'
import { indexKey, type SubPageChange } from '../trees/change.js'
import type { Committer } from '../commit/committer.js'
import type { StageFunction } from '../commit/stage.js'
import { type Engine, type EngineSnapshot, prefixRange } from '../engine/engine.js'
import { type Frozen, freeze } from '../commit/freeze.js'
import { leafHash, leafHashInTurns, NO_LEAF, subPageOf, xorInto, xorOf } from '../trees/leaf.js'
import { findCategory, type Tree } from '../keys/key-families.js'
import { DATA_PREFIX, dataKey, filteredKey, LEAF_KEY_START, subPagePrefix } from '../keys/raw-keys.js'
import type { CorruptPages, RebuildOptions, TreeReport } from '../keys/replicable.js'
import { compareTrees, reportPages, type SubPages, type Sums } from '../trees/tree-sums.js'
import { TREES } from '../trees/trees.js'

/** A key whose leaf record did not match the data during the scan. `leaf` is the correct leaf. */
interface WrongLeaf {
  readonly tree: Tree
  readonly subPage: number
  readonly key: string
  readonly leaf: Buffer | undefined
}

/** Compares the trees and the leaf records with the data, and repairs them, while the store is in use. */
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
      const options = signal && { signal }
      const { corrupt, damage } = await compareTrees(this.#engine, frozen.snapshot, frozen.trees, options)
      return { pages: reportPages(corrupt), damage: [...(await this.#engine.findDamage()), ...damage] }
    } finally {
      await frozen.snapshot.close()
    }
  }

  async rebuild(options: RebuildOptions): Promise<Record<Tree, CorruptPages>> {
    const frozen = freeze(this.#engine, this.#committer)
    const touched: Touched = new Map()
    const stop = this.#committer.onCommit(({ mutations }) => {
      for (const { key } of mutations) touched.set(key, undefined)
    })
    try {
      const { sums, corrupt, unindexed } = await compareTrees(this.#engine, frozen.snapshot, frozen.trees, options)
      const wrong = await this.#findWrongLeaves(frozen.snapshot, unindexed)
      await this.#readTouched(frozen.snapshot, touched, corrupt)
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
    const suspects = suspectsOf(unindexed)
    const wrong: WrongLeaf[] = []
    for await (const chunk of this.#engine.scan(prefixRange(DATA_PREFIX), { snapshot })) {
      for (const { key: rawKey, value } of chunk) {
        const key = rawKey.slice(DATA_PREFIX.length)
        const place = placeIn(suspects, key)
        if (!place) continue
        const stored = this.#engine.get(indexKey(place.tree, place.subPage, key), snapshot)
        const leaf = await leafHashInTurns(key, value)
        if (!stored?.equals(leaf)) wrong.push({ ...place, key, leaf })
      }
    }
    for (const tree of TREES) {
      for (const subPage of unindexed[tree]) wrong.push(...(await this.#findExtraLeaves(snapshot, tree, subPage)))
    }
    return wrong
  }

  /** Resolves to the leaf records without a stored key. */
  async #findExtraLeaves(snapshot: EngineSnapshot, tree: Tree, subPage: number): Promise<WrongLeaf[]> {
    const wrong: WrongLeaf[] = []
    for await (const chunk of this.#engine.scan(prefixRange(subPagePrefix(tree, subPage)), { snapshot })) {
      for (const { key: rawKey } of chunk) {
        const key = rawKey.slice(LEAF_KEY_START)
        if (!this.#engine.has(dataKey(key), snapshot)) wrong.push({ tree, subPage, key, leaf: undefined })
      }
    }
    return wrong
  }

  /**
   * Returns the function that stages the repair. The writer runs it after further commits, so it adds the changes of
   * these commits to the repaired sub-pages.
   */
  #stageRepair({ frozen, sums, corrupt, wrong, touched, skipFlush }: Repair): StageFunction {
    return (batch, state, trees) => {
      const later = this.#changesSince(frozen.snapshot, touched, corrupt)
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
      for (const { tree, subPage, key, leaf: scanned } of wrong) {
        const leaf = touched.has(key) ? (touched.get(key) ?? this.#leavesOf(key, frozen.snapshot)).now : scanned
        if (leaf === undefined) batch.delete(indexKey(tree, subPage, key))
        else batch.put(indexKey(tree, subPage, key), leaf)
      }
      if (changes.length === 0) return undefined
      if (skipFlush) {
        // The stored pages are invalid until the next checkpoint. A start before this checkpoint loads the leaves
        // instead.
        return { state: { ...state, checkpoint: undefined }, changes, filtered: [] }
      }
      const after = trees.putCheckpoint(batch, changes)
      return { state: { ...state, checkpoint: state.last.index }, changes, filtered: [], after }
    }
  }

  /**
   * Reads the leaves of keys that were committed during the scan, so that the repair, which blocks the writer, has to
   * read only keys that change again.
   */
  async #readTouched(snapshot: EngineSnapshot, touched: Touched, corrupt: SubPages): Promise<void> {
    await this.#committer.pause(async () => undefined)
    const suspects = suspectsOf(corrupt)
    for (const key of [...touched.keys()]) {
      if (!placeIn(suspects, key)) continue
      touched.delete(key)
      const before = await this.#leafInTurns(key, snapshot)
      const now = await this.#leafInTurns(key)
      if (!touched.has(key)) touched.set(key, { before, now })
    }
  }

  /** Returns, by sub-page, old leaf XOR new leaf of each key that has changed there since the snapshot. */
  #changesSince(
    snapshot: EngineSnapshot,
    touched: Touched,
    corrupt: SubPages,
  ): Record<Tree, Map<number, readonly Buffer[]>> {
    const suspects = suspectsOf(corrupt)
    const found: Record<Tree, Map<number, readonly Buffer[]>> = { replicated: new Map(), local: new Map() }
    for (const [key, known] of touched) {
      const place = placeIn(suspects, key)
      if (!place) continue
      const { before = NO_LEAF, now = NO_LEAF } = known ?? this.#leavesOf(key, snapshot)
      const { tree, subPage } = place
      found[tree].set(subPage, [...(found[tree].get(subPage) ?? []), xorOf(before, now)])
    }
    return found
  }

  #leavesOf(key: string, snapshot: EngineSnapshot): Leaves {
    const leafOf = (value: Buffer | undefined) => value && leafHash(key, value)
    return { before: leafOf(this.#engine.get(dataKey(key), snapshot)), now: leafOf(this.#engine.get(dataKey(key))) }
  }

  async #leafInTurns(key: string, snapshot?: EngineSnapshot): Promise<Buffer | undefined> {
    const value = this.#engine.get(dataKey(key), snapshot)
    return value && leafHashInTurns(key, value)
  }
}

/** The leaf of a key at the time of the scan, and now; undefined if the key does not exist. */
interface Leaves {
  readonly before: Buffer | undefined
  readonly now: Buffer | undefined
}

/** Keys that were committed since a scan began, with their leaves; undefined if the leaves were not read yet. */
type Touched = Map<string, Leaves | undefined>

type Suspects = Readonly<Record<Tree, ReadonlySet<number>>>

const suspectsOf = ({ replicated, local }: SubPages): Suspects => ({
  replicated: new Set(replicated),
  local: new Set(local),
})

/** Returns the tree and the sub-page of a key if `suspects` contains the sub-page, otherwise undefined. */
const placeIn = (suspects: Suspects, key: string): { readonly tree: Tree; readonly subPage: number } | undefined => {
  const tree = findCategory(key) ?? 'ignored'
  const subPage = subPageOf(key)
  return tree !== 'ignored' && suspects[tree].has(subPage) ? { tree, subPage } : undefined
}

interface Repair {
  readonly frozen: Frozen
  readonly sums: Sums
  readonly corrupt: SubPages
  readonly wrong: readonly WrongLeaf[]
  /** Keys that were committed since the scan began. */
  readonly touched: Touched
  readonly skipFlush: boolean
}
