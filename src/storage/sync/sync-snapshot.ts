import type { Committer } from '../committer.js'
import { type Engine, type EngineSnapshot, type Entry, prefixRange } from '../engine/engine.js'
import { freeze } from '../freeze.js'
import { compareKeys } from '../engine/ordered-map.js'
import { categoryOf, folderOf, PREFIXES, type Tree } from '../prefixes.js'
import { DATA_PREFIX, dataKey, heldKey, heldPrefix, LEAF_KEY_START, subPagePrefix } from '../raw-keys.js'
import type { SubPageKeys, SyncSnapshot } from '../replicable.js'

/** What a follower that resyncs reads from. Trimming of the log waits until it is closed. */
export const openSnapshot = (engine: Engine, committer: Committer): SyncSnapshot => {
  const { snapshot, state, trees } = freeze(engine, committer)
  const release = committer.hold()
  return {
    position: state.last,
    trees,
    leaves: async (tree, subPages) => {
      const found: SubPageKeys[] = []
      for (const run of runsOf(subPages)) for (const row of await readRun(engine, snapshot, tree, run)) found.push(row)
      return found
    },
    held: (tree) => readHeld(engine, snapshot, tree),
    get: (key) => engine.get(dataKey(key), snapshot),
    scan: (tree, after) => scanTree(engine, snapshot, tree, after),
    close: async () => {
      release()
      await snapshot.close()
    },
  }
}

const readHeld = async (engine: Engine, snapshot: EngineSnapshot, tree: Tree): Promise<Map<number, Buffer>> => {
  const held = new Map<number, Buffer>()
  for await (const chunk of engine.scan(prefixRange(heldPrefix(tree)), { snapshot })) {
    for (const { key, value } of chunk) held.set(Number.parseInt(key.slice(2), 16), value)
  }
  return held
}

/** To begin a scan takes about as long as to read the leaves of so many sub-pages. */
const GAP_MAX = 4

/** Ascending, with gaps so small that reading on is cheaper than beginning anew. */
const runsOf = (subPages: readonly number[]): (readonly number[])[] => {
  const runs: number[][] = []
  for (const subPage of subPages) {
    const run = runs.at(-1)
    const step = subPage - (run?.at(-1) ?? Number.NaN)
    if (run && step > 0 && step <= GAP_MAX) run.push(subPage)
    else runs.push([subPage])
  }
  return runs
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
  return [...leaves].map(([subPage, found]) => {
    const held = engine.get(heldKey(tree, subPage), snapshot)
    return held === undefined ? { subPage, leaves: found } : { subPage, leaves: found, held }
  })
}

/** All data of a tree in key order, found by the prefixes that belong to it. */
export async function* scanTree(
  engine: Engine,
  snapshot: EngineSnapshot,
  tree: Tree,
  after?: string,
): AsyncGenerator<readonly Entry[]> {
  const prefixes = PREFIXES.filter((row) => row.category === tree).map((row) => row.prefix)
  for (const prefix of prefixes.sort()) {
    const range = prefixRange(dataKey(prefix))
    const { lt } = range
    if (lt === undefined || (after !== undefined && compareKeys(dataKey(after), lt) >= 0)) continue
    const from = after !== undefined && compareKeys(after, prefix) >= 0 ? { gt: dataKey(after), lt } : range
    for await (const chunk of engine.scan(from, { snapshot })) {
      const entries = chunk.map(({ key, value }) => ({ key: key.slice(DATA_PREFIX.length), value }))
      // A row that is a whole key shares its beginning with others.
      const mine = folderOf(prefix) === prefix ? entries : entries.filter(({ key }) => categoryOf(key) === tree)
      if (mine.length > 0) yield mine
    }
  }
}
