import type { Committer } from '../commit/committer.js'
import { type Engine, type EngineSnapshot, type Entry, prefixRange } from '../engine/engine.js'
import { nextTurn } from '../../base/turn.js'
import { freeze } from '../commit/freeze.js'
import { compareKeys } from '../engine/ordered-map.js'
import { FAMILIES, type Tree } from '../keys/key-families.js'
import { DATA_PREFIX, dataKey, filteredKey, LEAF_KEY_START, subPagePrefix } from '../keys/raw-keys.js'
import type { SubPageKeys, SyncSnapshot } from '../keys/replicable.js'
import type { MerkleTree } from '../trees/merkle.js'
import { readFiltered } from '../trees/trees.js'

/** Opens a snapshot from which a secondary resyncs. Until it is closed, the log is trimmed only to its hard limit. */
export const openSnapshot = (engine: Engine, committer: Committer): SyncSnapshot => {
  const { snapshot, state, trees } = freeze(engine, committer)
  const release = committer.pin()
  return {
    position: state.last,
    trees,
    leaves: async (tree, subPages) => {
      const found: SubPageKeys[][] = []
      const runs = runsOf(subPages, trees[tree])
      for (let at = 0; at < runs.length; at += SCANS_AT_ONCE) {
        const some = runs.slice(at, at + SCANS_AT_ONCE)
        found.push(...(await Promise.all(some.map((run) => readRun(engine, snapshot, tree, run)))))
      }
      return found.flat()
    },
    filtered: (tree) => readFiltered(engine, tree, snapshot),
    get: (key) => engine.get(dataKey(key), snapshot),
    scan: (tree, after) => scanTree(engine, snapshot, tree, after),
    close: async () => {
      release()
      await snapshot.close()
    },
  }
}

/** Maximum non-empty sub-pages in a gap that one scan reads. Reading more of them costs more than a new scan. */
const GAP_MAX = 4
/** Number of parallel scans. A short scan spends most of its time waiting. */
const SCANS_AT_ONCE = 4

/** Groups ascending sub-pages into runs, which are read with one scan each. A run may have small gaps. */
const runsOf = (subPages: readonly number[], hashes: MerkleTree): (readonly number[])[] => {
  const runs: number[][] = []
  for (const subPage of subPages) {
    const run = runs.at(-1)
    const last = run?.at(-1) ?? Number.POSITIVE_INFINITY
    if (run && last < subPage && isNear(last, subPage, hashes)) run.push(subPage)
    else runs.push([subPage])
  }
  return runs
}

/** Returns true if few sub-pages between `from` and `to` have keys. In a small store, most sub-pages are empty. */
const isNear = (from: number, to: number, hashes: MerkleTree): boolean => {
  let used = 0
  for (let subPage = from + 1; subPage < to; subPage++) {
    if (!hashes.isZero(subPage) && ++used === GAP_MAX) return false
  }
  return true
}

const readRun = async (
  engine: Engine,
  snapshot: EngineSnapshot,
  tree: Tree,
  run: readonly number[],
): Promise<SubPageKeys[]> => {
  const leaves = new Map(run.map((subPage) => [subPage, [] as { key: string; leaf: Buffer }[]]))
  const [first = 0] = run
  const range = { ...prefixRange(subPagePrefix(tree, run.at(-1) ?? first)), gte: subPagePrefix(tree, first) }
  for await (const chunk of engine.scan(range, { snapshot })) {
    for (const { key, value } of chunk) {
      const subPage = Number.parseInt(key.slice(2, LEAF_KEY_START), 16)
      leaves.get(subPage)?.push({ key: key.slice(LEAF_KEY_START), leaf: value })
    }
  }
  const rows: SubPageKeys[] = []
  for (const [subPage, found] of leaves) {
    const filtered = engine.get(filteredKey(tree, subPage), snapshot)
    rows.push(filtered === undefined ? { subPage, leaves: found } : { subPage, leaves: found, filtered: filtered })
    if (rows.length % LOOKUPS_PER_TURN === 0) await nextTurn()
  }
  return rows
}

/** Number of lookups after which the loop yields to the event loop. A lookup takes a few microseconds. */
const LOOKUPS_PER_TURN = 256

/** Yields all data of a tree in chunks, in key order. Scans the key families of the tree one by one. */
async function* scanTree(
  engine: Engine,
  snapshot: EngineSnapshot,
  tree: Tree,
  after?: string,
): AsyncGenerator<readonly Entry[]> {
  const families = FAMILIES.filter(({ category }) => category === tree).sort((a, b) => compareKeys(a.at, b.at))
  for (const { at, isFolder } of families) {
    const range = prefixRange(dataKey(at))
    const { lt } = range
    if (lt === undefined || (after !== undefined && compareKeys(dataKey(after), lt) >= 0)) continue
    const from = after !== undefined && compareKeys(after, at) >= 0 ? { gt: dataKey(after), lt } : range
    for await (const chunk of engine.scan(from, { snapshot })) {
      const entries = chunk.map(({ key, value }) => ({ key: key.slice(DATA_PREFIX.length), value }))
      // The key of a single-key family can be the prefix of other keys.
      const mine = isFolder ? entries : entries.filter(({ key }) => key === at)
      if (mine.length > 0) yield mine
    }
  }
}
