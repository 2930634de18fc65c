import { SHORT_HASH_BYTES as HASH } from '../../crypto/digest.js'
import { type Engine, type EngineSnapshot, prefixRange } from '../engine/engine.js'
import { differingHashes, leafHashInTurns, subPageOf, xorInto } from './leaf.js'
import { type MerkleTree, PAGE_BYTES, PAGES, pageOf, SUB_PAGES, SUB_PAGES_PER_PAGE } from './merkle.js'
import { findCategory, type Tree } from '../keys/key-families.js'
import { DATA_PREFIX } from '../keys/raw-keys.js'
import type { CorruptPages, RebuildOptions } from '../keys/replicable.js'
import { readFiltered, sumLeaves, TREES } from './trees.js'

/** The 65,536 sub-page hashes of each tree, concatenated. */
export type Sums = Readonly<Record<Tree, Buffer>>
export type SubPages = Readonly<Record<Tree, readonly number[]>>

interface Comparison {
  /** The correct sub-page hashes, including filtered hashes. */
  readonly sums: Sums
  /** Sub-pages that are wrong in the tree or in the leaf records. */
  readonly corrupt: SubPages
  /** Sub-pages that are wrong in the leaf records. */
  readonly unindexed: SubPages
  /** Messages about data that was lost, changed or added after it was written; empty if there is no damage. */
  readonly damage: readonly string[]
}

/** Compares the trees and the leaf records with the data of a snapshot. All three must have the same index. */
export const compareTrees = async (
  engine: Engine,
  snapshot: EngineSnapshot,
  trees: Readonly<Record<Tree, MerkleTree>>,
  { onProgress, signal }: RebuildOptions = {},
): Promise<Comparison> => {
  let total = 0
  const count = (entries: number) => {
    signal?.throwIfAborted()
    total += entries
  }
  const leafSums: Sums = {
    replicated: await sumLeaves(engine, 'replicated', snapshot, count),
    local: await sumLeaves(engine, 'local', snapshot, count),
  }
  let done = 0
  const damage: string[] = []
  const onStranger = (key: string) => {
    if (damage.length < STRANGERS_MAX) damage.push(`an unknown key: ${JSON.stringify(key)}`)
  }
  const sums = await sumData(engine, snapshot, onStranger, (entries) => {
    signal?.throwIfAborted()
    done += entries
    onProgress?.(Math.min(done, total), total)
  })
  const unindexed: Record<Tree, number[]> = { replicated: [], local: [] }
  const corrupt: Record<Tree, number[]> = { replicated: [], local: [] }
  for (const tree of TREES) {
    unindexed[tree] = differingHashes(sums[tree], leafSums[tree], SUB_PAGES)
    for (const [subPage, hash] of await readFiltered(engine, tree, snapshot)) xorInto(sums[tree], subPage * HASH, hash)
    const inTree = differingFrom(trees[tree], sums[tree])
    // Only writes change the tree. If the tree matches the data, the leaf record is wrong. Otherwise, the data is
    // wrong.
    const lost = unindexed[tree].filter(isAmong(inTree))
    if (lost.length > 0)
      damage.push(`${tree} data has changed since it was written, in ${lost.length} of ${SUB_PAGES} parts`)
    corrupt[tree] = [...new Set([...inTree, ...unindexed[tree]])].sort((a, b) => a - b)
  }
  return { sums, corrupt, unindexed, damage }
}

/** Maximum number of unknown keys that are reported. */
const STRANGERS_MAX = 10

const isAmong = (subPages: readonly number[]): ((subPage: number) => boolean) => {
  const known = new Set(subPages)
  return (subPage) => known.has(subPage)
}

/** Resolves to the XOR of the leaf hashes of the data, for every sub-page. Calls `onStranger` for unknown keys. */
const sumData = async (
  engine: Engine,
  snapshot: EngineSnapshot,
  onStranger: (key: string) => void,
  onChunk: (entries: number) => void,
): Promise<Sums> => {
  const sums: Sums = { replicated: Buffer.alloc(SUB_PAGES * HASH), local: Buffer.alloc(SUB_PAGES * HASH) }
  for await (const chunk of engine.scan(prefixRange(DATA_PREFIX), { snapshot })) {
    for (const { key: rawKey, value } of chunk) {
      const key = rawKey.slice(DATA_PREFIX.length)
      const category = findCategory(key)
      if (category === undefined) onStranger(key)
      else if (category !== 'ignored') {
        xorInto(sums[category], subPageOf(key) * HASH, await leafHashInTurns(key, value))
      }
    }
    onChunk(chunk.length)
  }
  return sums
}

/** Returns the sub-pages whose hash in the tree differs from `sums`, in order. */
const differingFrom = (tree: MerkleTree, sums: Buffer): readonly number[] => {
  const found: number[] = []
  for (let page = 0; page < PAGES; page++) {
    const right = sums.subarray(page * PAGE_BYTES, (page + 1) * PAGE_BYTES)
    const inPage = differingHashes(right, tree.pageRecord(page), SUB_PAGES_PER_PAGE)
    for (const n of inPage) found.push(page * SUB_PAGES_PER_PAGE + n)
  }
  return found
}

/** Groups sub-pages by page. The result has their numbers within the page. */
export const reportPages = (corrupt: SubPages): Readonly<Record<Tree, CorruptPages>> => {
  const pages = (subPages: readonly number[]): CorruptPages => {
    const found = new Map<number, number[]>()
    for (const subPage of subPages) {
      const inPage = found.get(pageOf(subPage))
      if (inPage === undefined) found.set(pageOf(subPage), [subPage & 0xff])
      else inPage.push(subPage & 0xff)
    }
    return found
  }
  return { replicated: pages(corrupt.replicated), local: pages(corrupt.local) }
}
