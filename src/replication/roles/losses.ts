import { LIMITS } from '../../base/limits.js'
import { putJson, readJson, type Storage } from '../../logical/storage.js'
import { type Category, findMountOf, KEYS } from '../../storage/keys/key-families.js'
import type { Frame, ReplicableStore, WalOperation } from '../../storage/keys/replicable.js'
import { decodeFrame } from '../../storage/log/frame.js'
import { leafHash, NO_LEAF } from '../../storage/trees/leaf.js'
import type { MountFact } from '../model/compile-filter.js'
import { recordKey } from '../model/state.js'
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
const FRAMES_BYTES_READ = 1024 * 1024

export interface LostSuffix extends Required<Pick<Loss, 'entriesBeyond' | 'framesBeyond'>> {
  readonly entries: readonly OpenEntry[]
  readonly frames: readonly Frame[]
  /** True if some lost entries are no longer on disk. */
  readonly isTrimmed: boolean
}

/**
 * Returns a predicate for the categories of data that a role change can lose: all data that secondaries of the kind
 * receive. For a DR copy of a performance secondary, excludes replicated data, because the performance primary still
 * has this data or lists it itself.
 */
export const isOwnOf =
  (kind: Kind, isPerformanceCopy: boolean) =>
  (category: Category): boolean =>
    kind === 'dr' ? category !== 'replicated' || !isPerformanceCopy : category === 'replicated'

/** Resolves to the log entries after `index` whose category `isOwn` accepts. */
export const collectSuffix = async (
  store: Pick<ReplicableStore, 'framesAfter' | 'position' | 'firstIndex'>,
  isOwn: (category: Category) => boolean,
  index: number,
  mounts: readonly MountFact[],
): Promise<LostSuffix> => {
  const paths = new Map(mounts.map((mount) => [mount.uuid, mount.path]))
  const suffix = new BoundedSuffix(paths)
  const isTrimmed = index + 1 < store.firstIndex
  let at = isTrimmed ? store.firstIndex - 1 : index
  for (;;) {
    const next = at < store.position.index ? await store.framesAfter(at, FRAMES_BYTES_READ) : []
    if (!next || next.length === 0) return { ...suffix.all(), isTrimmed: isTrimmed || next === undefined }
    for (const frame of next) {
      const lost = decodeFrame(frame)
        .filter((entry) => entry.index > index)
        .flatMap((entry) =>
          entry.operations
            .filter(({ key, category }) => isData(key) && isOwn(category))
            .map((operation) => ({ index: entry.index, operation })),
        )
      if (lost.length > 0) suffix.add(lost, frame)
      at = frame.lastIndex
    }
  }
}

interface LostOperation {
  readonly index: number
  readonly operation: WalOperation
}

/** The part of a suffix that fits into a list, and the size of the rest. */
class BoundedSuffix {
  readonly #paths: ReadonlyMap<string, string>
  readonly #entries: OpenEntry[] = []
  readonly #frames: Frame[] = []
  #entriesBeyond = 0
  #framesBeyond = 0
  #frameBytes = 0

  /** `paths`: the path of each mount by its ID. */
  constructor(paths: ReadonlyMap<string, string>) {
    this.#paths = paths
  }

  add(lost: readonly LostOperation[], frame: Frame): void {
    const named = lost.slice(0, LIMITS.lossEntriesMax - this.#entries.length)
    for (const { index, operation } of named) this.#entries.push(describe(index, operation, this.#paths))
    this.#entriesBeyond += lost.length - named.length
    this.#frameBytes += frame.bytes.length
    if (this.#frameBytes <= LIMITS.lossFrameBytesMax) this.#frames.push(frame)
    else this.#framesBeyond++
  }

  all(): Omit<LostSuffix, 'isTrimmed'> {
    const [entries, entriesBeyond] = [this.#entries, this.#entriesBeyond]
    return { entries, entriesBeyond, frames: this.#frames, framesBeyond: this.#framesBeyond }
  }
}

/**
 * Returns false for filtered operations, which have no key, and for the performance role record, which a failover
 * itself changes.
 */
const isData = (key: string): boolean => key !== '' && key !== recordKey('performance')

const describe = (
  index: number,
  { key, value, delta }: WalOperation,
  paths: ReadonlyMap<string, string>,
): OpenEntry => {
  const found = findMountOf(key)
  const mount = found && paths.get(found.uuid)
  const path = mount === undefined ? key : mount + found?.rest
  const leaf = value === undefined ? NO_LEAF : leafHash(key, value)
  // The delta is the XOR of the leaf hashes before and after.
  const isNew = delta.equals(leaf)
  return {
    index,
    path,
    operation: value === undefined ? 'delete' : 'put',
    ...(isNew && { isNew }),
    key,
    leaf: leafText(leaf),
  }
}

/** Returns the leaf hash of a stored value in base64; empty without a value. */
export const leafOf = (key: string, value: Buffer | undefined): string =>
  leafText(value === undefined ? NO_LEAF : leafHash(key, value))

const leafText = (leaf: Buffer): string => (leaf === NO_LEAF ? '' : leaf.toString('base64'))

/**
 * Stores a loss. Writes the frames first and the list last, so that every listed loss is complete. The list
 * replaces an earlier list with this ID. Resolves to the IDs of the oldest losses, which were removed to stay within the
 * limit.
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
