import { nextTurn } from '../../base/turn.js'
import type { Storage } from '../../logical/storage.js'
import type { ReplicableStore } from '../../storage/keys/replicable.js'
import type { ReplicationHost } from '../host/host.js'
import type { Kind } from '../model/types.js'
import {
  type LostEntry,
  type OpenEntry,
  type OpenLoss,
  readLosses,
  removeLoss,
  type StoredLoss,
  toLostEntry,
  writeList,
} from './losses.js'
import { leafOf } from './lost-suffix.js'
import { merkleRootOf } from './tree-maintenance.js'

/**
 * A list is written before any of its entries can be overwritten, so it may have entries that the next primary has too.
 * The list is open until the data of this cluster shows which entries are lost: those whose effect it does not have.
 */

type Host = Pick<ReplicationHost, 'storage' | 'store' | 'log'>

export type OpenList = StoredLoss & { readonly loss: { readonly open: OpenLoss } }

export const openLosses = async (storage: Storage, kind: Kind): Promise<OpenList[]> =>
  (await readLosses(storage, ({ open }) => open?.kind === kind)).flatMap(({ id, loss }) =>
    loss.open ? [{ id, loss: { ...loss, open: loss.open } }] : [],
  )

/**
 * Ends the open lists of a kind. Must be called when the data of this cluster equals the data of its primary, before
 * later entries are applied, or when this cluster no longer follows a primary.
 */
export const settleLosses = async ({ storage, store, log }: Host, kind: Kind): Promise<void> => {
  for (const { id, loss } of await openLosses(storage, kind)) {
    const { open, ...rest } = loss
    const isUnchanged = open.root === merkleRootOf(store, kind).toString('hex')
    // The entries of an open list have their keys.
    const entries = isUnchanged ? [] : await findLost(store, loss.entries as readonly OpenEntry[])
    const mayLackEntries = !isUnchanged && (open.isPartial || (rest.entriesBeyond ?? 0) > 0)
    if (entries.length > 0 || mayLackEntries) await writeList(storage, { id, loss: { ...rest, entries } })
    else await removeLoss(storage, id)
    log.info('losses settled', { kind, epoch: loss.epoch, listed: loss.entries.length, lost: entries.length })
  }
}

/** Removes the held lists of a kind, on a cluster that was promoted or left its set while it was ahead. */
export const dropHeld = async ({ storage }: Host, kind: Kind): Promise<void> => {
  for (const { id, loss } of await openLosses(storage, kind)) if (loss.open.isHeld) await removeLoss(storage, id)
}

/** Number of values to hash before other work runs. */
const VALUES_PER_TURN = 256

/**
 * Returns the entries whose effect the data does not have: those after the last change of their key that set the
 * present value. All of them if none set it.
 */
const findLost = async (
  store: Pick<ReplicableStore, 'snapshot'>,
  entries: readonly OpenEntry[],
): Promise<readonly LostEntry[]> => {
  const present = await leavesOf(store, new Set(entries.map(({ key }) => key)))
  const settled = new Set<string>()
  const lost: LostEntry[] = []
  for (const entry of entries.toReversed()) {
    if (present.get(entry.key) === entry.leaf) settled.add(entry.key)
    if (!settled.has(entry.key)) lost.push(toLostEntry(entry))
  }
  return lost.reverse()
}

const leavesOf = async (
  store: Pick<ReplicableStore, 'snapshot'>,
  keys: ReadonlySet<string>,
): Promise<ReadonlyMap<string, string>> => {
  const leaves = new Map<string, string>()
  const snapshot = store.snapshot()
  try {
    for (const key of keys) {
      leaves.set(key, leafOf(key, snapshot.get(key)))
      if (leaves.size % VALUES_PER_TURN === 0) await nextTurn()
    }
  } finally {
    await snapshot.close()
  }
  return leaves
}
