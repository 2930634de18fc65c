import type { Log } from '../../base/log.js'
import type { Tree } from '../../storage/keys/key-families.js'
import type { RemotePosition, ReplicableStore, SyncSnapshot } from '../../storage/keys/replicable.js'
import type { PrimaryConnection } from '../rpc/transport.js'
import type { PeerIdentityMessage, ResyncNeeded } from '../rpc/messages.js'
import { filteredDigest } from '../filter/filtered-digest.js'
import type { Kind, SecondaryHooks } from '../model/types.js'
import { type DiffCall, findConflicts, treeNumber, usedSubPages } from './diff.js'
import { fetchSubPages } from './fetch.js'
import type { EnteredState } from './sync-state.js'
import { StepWriter, type StepWriterOptions } from './step-writer.js'

export interface ResyncOptions extends StepWriterOptions {
  readonly kind: Kind
  readonly hooks: SecondaryHooks
  readonly log: Log
  readonly who: () => PeerIdentityMessage
  readonly enter: (state: EnteredState) => void
}

/** Maximum number of keys in a tree for which the whole tree of the primary is copied instead of compared. */
const FEW_KEYS = 64

type Plan =
  | { readonly tree: Tree; readonly how: 'equal' }
  | { readonly tree: Tree; readonly how: 'whole'; readonly own: ReadonlySet<string> }
  | { readonly tree: Tree; readonly how: 'sub-pages'; readonly subPages: readonly number[] }

/** The result of a resync. `isEqual` is true if the Merkle roots are equal afterwards. */
interface ResyncResult {
  readonly position: RemotePosition
  readonly isEqual: boolean
  readonly changes: number
}

/**
 * Makes the store equal to the snapshot of a session: finds the differences, fetches them, and writes each part while
 * the next one is fetched. The last part also stores the position in the primary's log, so that a crash before it leads
 * to another comparison. A performance secondary compares only replicated keys. Its local keys do not change.
 */
export const resync = async (
  connection: Pick<PrimaryConnection, 'call' | 'fetchKeys'>,
  offer: ResyncNeeded,
  options: ResyncOptions,
  signal: AbortSignal,
): Promise<ResyncResult> => {
  const { kind, store, hooks, enter, log, who } = options
  const position = offer.position ?? { index: 0, hash: Buffer.alloc(0), epoch: '' }
  const call: DiffCall = { connection, session: offer.session, who, signal }
  enter('merkle-diff')
  await hooks.beforeState('merkle-diff', signal)
  log.info('starting merkle diff', { reason: offer.reason })
  const snapshot = store.snapshot()
  const writer = new StepWriter(options)
  try {
    const trees: readonly Tree[] = kind === 'dr' ? ['replicated', 'local'] : ['replicated']
    const plans: Plan[] = []
    for (const tree of trees) plans.push(await planFor(call, tree, snapshot, offer))
    const work = plans.filter((plan) => plan.how !== 'equal')
    if (work.length > 0) {
      enter('merkle-sync')
      if (kind === 'performance' && hooks.servesReads()) store.holdReads()
      await hooks.beforeState('merkle-sync', signal)
      log.info('starting merkle sync', { conflicts: work.map(describe) })
      for (const plan of work) await executePlan(call, plan, snapshot, writer)
    }
    await writer.finish(position)
    return { position, isEqual: isEqual(store, kind, offer), changes: writer.changes }
  } finally {
    await writer.discard()
    await snapshot.close()
  }
}

const isEqual = (store: ReplicableStore, kind: Kind, offer: ResyncNeeded): boolean =>
  store.trees.replicated.root().equals(offer.replicated_root) &&
  (kind !== 'dr' || store.trees.local.root().equals(offer.local_root))

const planFor = async (call: DiffCall, tree: Tree, snapshot: SyncSnapshot, offer: ResyncNeeded): Promise<Plan> => {
  const root = tree === 'local' ? offer.local_root : offer.replicated_root
  const filtered = await snapshot.filtered(tree)
  const isFiltered = tree === 'replicated' && offer.is_filtered
  const compareAll = isFiltered
    ? offer.is_filter_new
    : tree === 'replicated' && !filteredDigest(filtered).equals(offer.filtered_digest)
  if (!compareAll && snapshot.trees[tree].root().equals(root)) return { tree, how: 'equal' }
  // A copy of a whole tree contains no filtered hashes.
  const isWhole = tree === 'local' || (!isFiltered && !compareAll && filtered.size === 0)
  const own = isWhole ? await fewKeys(snapshot, tree) : undefined
  if (own) return { tree, how: 'whole', own }
  const conflicts = await findConflicts(call, tree, snapshot.trees[tree])
  const subPages = compareAll
    ? merge(conflicts, [...usedSubPages(snapshot.trees[tree]), ...filtered.keys()])
    : conflicts
  return subPages.length === 0 ? { tree, how: 'equal' } : { tree, how: 'sub-pages', subPages }
}

const merge = (a: readonly number[], b: readonly number[]): number[] => [...new Set([...a, ...b])].sort((x, y) => x - y)

/** Resolves to all keys of a tree if there are at most `FEW_KEYS`, otherwise to undefined. */
const fewKeys = async (snapshot: SyncSnapshot, tree: Tree): Promise<Set<string> | undefined> => {
  const keys = new Set<string>()
  for await (const chunk of snapshot.scan(tree)) {
    for (const { key } of chunk) keys.add(key)
    if (keys.size > FEW_KEYS) return undefined
  }
  return keys
}

const describe = (plan: Plan): string =>
  plan.how === 'sub-pages' ? `${plan.tree}: ${plan.subPages.length} sub-pages` : `${plan.tree}: ${plan.how}`

const executePlan = async (call: DiffCall, plan: Plan, snapshot: SyncSnapshot, writer: StepWriter): Promise<void> => {
  if (plan.how === 'whole') return copyTree(call, plan.tree, plan.own, writer)
  if (plan.how === 'equal') return
  for await (const step of fetchSubPages(call, plan.tree, snapshot, plan.subPages)) await writer.add(step)
}

/**
 * Copies a whole tree to a nearly empty store. `own` has the existing keys of the tree. Deletes those that the primary
 * does not have.
 */
const copyTree = async (call: DiffCall, tree: Tree, own: ReadonlySet<string>, writer: StepWriter): Promise<void> => {
  const { connection, session, who } = call
  const request = { who: who(), session, tree: treeNumber(tree), is_whole: true, sub_pages: [] }
  const replaced = await writer.copy(tree, connection.fetchKeys(request))
  const left = [...own].filter((key) => !replaced.has(key))
  await writer.add({ mutations: left.map((key) => ({ key, value: undefined })), filtered: [] })
}
