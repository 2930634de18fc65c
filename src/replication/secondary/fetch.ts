import { SHORT_HASH_BYTES as HASH } from '../../crypto/digest.js'
import { NO_LEAF } from '../../storage/trees/leaf.js'
import { unpackAll } from '../../storage/sync/packed.js'
import { categoryOf, type Tree } from '../../storage/keys/key-families.js'
import type { FilteredHash, SubPageKeys, SyncSnapshot } from '../../storage/keys/replicable.js'
import type { FetchKeysReply } from '../rpc/messages.js'
import { type DiffCall, treeNumber } from './diff.js'
import type { Step } from './step-writer.js'

/** Approximate maximum of leaf hashes per call. They have 320 KiB. */
const LEAVES_PER_CALL = 16_384
const SUB_PAGES_PER_CALL = 2048

/** Fetches the differences of some sub-pages. Yields them in several steps, to limit memory use. */
export async function* fetchSubPages(
  call: DiffCall,
  tree: Tree,
  snapshot: SyncSnapshot,
  subPages: readonly number[],
): AsyncGenerator<Step> {
  for await (const group of groupsOf(tree, snapshot, subPages)) {
    yield* fetchGroup(call, tree, group)
  }
}

async function* groupsOf(
  tree: Tree,
  snapshot: SyncSnapshot,
  subPages: readonly number[],
): AsyncGenerator<SubPageKeys[]> {
  let group: SubPageKeys[] = []
  let leaves = 0
  for (let at = 0; at < subPages.length; at += SUB_PAGES_PER_CALL) {
    const asked = subPages.slice(at, at + SUB_PAGES_PER_CALL)
    const found = new Map((await snapshot.leaves(tree, asked)).map((row) => [row.subPage, row]))
    for (const subPage of asked) {
      const row = found.get(subPage) ?? { subPage, leaves: [] }
      group.push(row)
      leaves += row.leaves.length
      if (leaves < LEAVES_PER_CALL && group.length < SUB_PAGES_PER_CALL) continue
      yield group
      group = []
      leaves = 0
    }
  }
  if (group.length > 0) yield group
}

async function* fetchGroup(call: DiffCall, tree: Tree, group: readonly SubPageKeys[]): AsyncGenerator<Step> {
  const { connection, session, who } = call
  const sub_pages = group.map(({ subPage, leaves }) => ({
    sub_page: subPage,
    leaves: Buffer.concat(leaves.map(({ leaf }) => leaf)),
  }))
  const request = { who: who(), session, tree: treeNumber(tree), is_whole: false, sub_pages }
  const rows = new Map(group.map((row) => [row.subPage, row]))
  const isReplaced = new Set<string>()
  const unknown = new Set<string>()
  const filtered = new Map<number, Buffer>()
  for await (const reply of connection.fetchKeys(request)) {
    noteDifferences(reply, rows, unknown, filtered)
    const mutations = unpackAll(reply.entries)
    for (const { key } of mutations) {
      if (categoryOf(key) !== tree) throw new Error('the primary sent a key of another tree')
      isReplaced.add(key)
    }
    if (mutations.length > 0) yield { mutations, filtered: [] }
  }
  const deleted = [...unknown].filter((key) => !isReplaced.has(key)).map((key) => ({ key, value: undefined }))
  yield { mutations: deleted, filtered: filteredChanges(tree, group, filtered) }
}

const noteDifferences = (
  reply: FetchKeysReply,
  rows: ReadonlyMap<number, SubPageKeys>,
  unknown: Set<string>,
  filtered: Map<number, Buffer>,
): void => {
  for (const { sub_page, hash } of reply.filtered) filtered.set(sub_page, hash)
  for (const { sub_page, leaves } of reply.unknown) {
    const gone = new Set<string>()
    for (let at = 0; at < leaves.length; at += HASH) gone.add(leaves.toString('latin1', at, at + HASH))
    for (const { key, leaf } of rows.get(sub_page)?.leaves ?? [])
      if (gone.has(leaf.toString('latin1'))) unknown.add(key)
  }
}

/**
 * Returns the changes that make the filtered hashes equal to those of the primary. If the primary omits a sub-page,
 * nothing is filtered in it.
 */
const filteredChanges = (
  tree: Tree,
  group: readonly SubPageKeys[],
  theirs: ReadonlyMap<number, Buffer>,
): FilteredHash[] =>
  group.flatMap(({ subPage, filtered = NO_LEAF }) => {
    const hash = theirs.get(subPage) ?? NO_LEAF
    return hash.equals(filtered) ? [] : [{ tree, subPage, hash }]
  })
