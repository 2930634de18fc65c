import { LIMITS } from '../../base/limits.js'
import { putJson, readJson, type Storage } from '../../logical/storage.js'
import { KEYS } from '../../storage/keys/key-families.js'
import type { Frame } from '../../storage/keys/replicable.js'
import type { Kind } from '../model/types.js'

/**
 * A list of the entries that a failover lost. Before a cluster overwrites such entries, it stores the list and the
 * encrypted log frames below a prefix that never leaves the cluster. The number and the size of the lists are limited.
 * A list states how many entries it omits.
 */
export interface Loss {
  readonly epoch: string
  readonly firstIndex: number
  readonly lastIndex: number
  readonly reason: string
  readonly entries: readonly LostEntry[]
  /** Number of lost entries that are not listed. */
  readonly entriesBeyond?: number
  /** Number of log frames that were not stored. */
  readonly framesBeyond?: number
  /** Set until the data shows which entries are lost (`settle-losses.ts`). */
  readonly open?: OpenLoss
}

/** The state of a list that may have entries whose effect this cluster still has, or will receive again. */
export interface OpenLoss {
  readonly kind: Kind
  /** The Merkle root of the data that has the effect of all entries, as hexadecimal digits. */
  readonly root: string
  /** True while this cluster is ahead of its primary and discards nothing: nothing is lost yet. */
  readonly isHeld: boolean
  /** True if further entries may be lost that cannot be listed. */
  readonly isPartial: boolean
}

export interface LostEntry {
  readonly index: number
  /** The storage path. The path of the mount replaces its ID if the mount is known. */
  readonly path: string
  readonly operation: 'put' | 'delete'
  /** True if the key had no value before this entry. */
  readonly isNew?: true
}

/** An entry of an open list: with its key, and the leaf hash of its value in base64, which is empty for a deletion. */
export interface OpenEntry extends LostEntry {
  readonly key: string
  readonly leaf: string
}

/** Returns an entry without the fields of an open list. */
export const toLostEntry = ({ index, path, operation, isNew }: LostEntry): LostEntry => ({
  index,
  path,
  operation,
  ...(isNew && { isNew }),
})

/** A list in storage. */
export interface StoredLoss {
  readonly id: string
  readonly loss: Loss
}

const ENTRIES_PER_RECORD = 1000

/**
 * Stores a loss. Writes the frames first and the list last, so that every listed loss is complete. The list replaces an
 * earlier list with this ID. Resolves to the IDs of the oldest losses, which were removed to stay within the limit.
 */
export const writeLoss = async (
  storage: Storage,
  id: string,
  loss: Loss,
  frames: readonly Frame[],
): Promise<readonly string[]> => {
  const base = `${KEYS.losses}${id}/`
  for (const [n, frame] of frames.entries()) {
    await storage.write((tx) => tx.put(`${base}frames/${pad(n)}`, frame.bytes))
  }
  await writeList(storage, { id, loss })
  return dropOldest(storage, id)
}

/** Replaces a list in one transaction. Its frames stay. */
export const writeList = async (storage: Storage, { id, loss }: StoredLoss): Promise<void> => {
  const { entries, ...head } = loss
  const base = `${KEYS.losses}${id}/`
  const before = await storage.keys(`${base}entries/`)
  await storage.write((tx) => {
    for (const key of before) tx.delete(key)
    for (let from = 0; from < entries.length; from += ENTRIES_PER_RECORD)
      putJson(tx, `${base}entries/${pad(from)}`, entries.slice(from, from + ENTRIES_PER_RECORD))
    putJson(tx, `${base}head`, { ...head, count: entries.length })
  })
}

export const removeLoss = async (storage: Storage, id: string): Promise<void> => {
  await storage.write((tx) => tx.delete(`${KEYS.losses}${id}/head`))
  for (const key of await storage.keys(`${KEYS.losses}${id}/`)) await storage.write((tx) => tx.delete(key))
}

const dropOldest = async (storage: Storage, newest: string): Promise<readonly string[]> => {
  const ids = (await storage.list(KEYS.losses)).map((folder) => folder.slice(0, -1)).filter((id) => id !== newest)
  const dropped = ids.sort().slice(0, Math.max(0, ids.length + 1 - LIMITS.lossesMax))
  for (const id of dropped) await removeLoss(storage, id)
  return dropped
}

/** Resolves to the wanted losses, oldest first. Does not read the entries of the others. */
export const readLosses = async (
  storage: Storage,
  isWanted: (head: Omit<Loss, 'entries'>) => boolean = () => true,
): Promise<StoredLoss[]> => {
  const losses: StoredLoss[] = []
  for (const folder of await storage.list(KEYS.losses)) {
    const head = readHead(storage, folder)
    if (!head || !isWanted(head)) continue
    const parts = await storage.keys(`${KEYS.losses}${folder}entries/`)
    const entries = parts.flatMap((key) => readJson<LostEntry[]>(storage, key) ?? [])
    const { count: _, ...rest } = head
    losses.push({ id: folder.slice(0, -1), loss: { ...rest, entries } })
  }
  return losses
}

const readHead = (storage: Storage, folder: string) =>
  readJson<Omit<Loss, 'entries'> & { count: number }>(storage, `${KEYS.losses}${folder}head`)

/**
 * Resolves to the ID of a loss. IDs sort by time. If a crash interrupts the recording, or if the same loss is recorded
 * again, the loss keeps its ID and is listed once. A settled list is never replaced, because a primary can be rewound
 * several times to the same position.
 */
export const lossIdFor = async (
  storage: Storage,
  nowMs: number,
  kind: Kind,
  { epoch, firstIndex }: Pick<Loss, 'epoch' | 'firstIndex'>,
): Promise<string> => {
  const what = `${kind}-${epoch}-${firstIndex}`
  const isSettled = (folder: string) => {
    const head = readHead(storage, folder)
    return head !== undefined && head.open === undefined && head.count > 0
  }
  const folders = await storage.list(KEYS.losses)
  const known = folders.find((folder) => folder.endsWith(`-${what}/`) && !isSettled(folder))
  return known?.slice(0, -1) ?? `${pad(nowMs)}-${what}`
}

const pad = (n: number): string => String(n).padStart(15, '0')
