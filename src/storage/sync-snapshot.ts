import type { Committer } from './committer.js'
import { type Engine, type EngineSnapshot, type Entry, prefixRange } from './engine.js'
import { freeze } from './freeze.js'
import { compareKeys } from './ordered-map.js'
import { categoryOf, PREFIXES, type Tree } from './prefixes.js'
import { DATA_PREFIX, dataKey, heldKey, heldPrefix, LEAF_KEY_START, subPagePrefix } from './raw-keys.js'
import type { SubPageKeys, SyncSnapshot } from './replicable.js'

/** What a follower that resyncs reads from. Trimming of the log waits until it is closed. */
export const openSnapshot = (engine: Engine, committer: Committer): SyncSnapshot => {
  const { snapshot, state, trees } = freeze(engine, committer)
  const release = committer.hold()
  return {
    position: state.last,
    trees,
    leaves: async (tree, subPages) => {
      const found: SubPageKeys[] = []
      for (const subPage of subPages) found.push(await readSubPage(engine, snapshot, tree, subPage))
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

const readSubPage = async (
  engine: Engine,
  snapshot: EngineSnapshot,
  tree: Tree,
  subPage: number,
): Promise<SubPageKeys> => {
  const leaves: { key: string; leaf: Buffer }[] = []
  for await (const chunk of engine.scan(prefixRange(subPagePrefix(tree, subPage)), { snapshot })) {
    for (const { key, value } of chunk) leaves.push({ key: key.slice(LEAF_KEY_START), leaf: value })
  }
  const held = engine.get(heldKey(tree, subPage), snapshot)
  return held === undefined ? { subPage, leaves } : { subPage, leaves, held }
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
      const mine = entries.filter(({ key }) => categoryOf(key) === tree)
      if (mine.length > 0) yield mine
    }
  }
}
