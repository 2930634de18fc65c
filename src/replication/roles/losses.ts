import { LIMITS } from '../../base/limits.js'
import { putJson, readJson, type Storage } from '../../logical/storage.js'
import { type Category, findMountOf, KEYS } from '../../storage/keys/key-families.js'
import type { Frame, ReplicableStore } from '../../storage/keys/replicable.js'
import { decodeFrame } from '../../storage/log/frame.js'
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
}

export interface LostEntry {
  readonly index: number
  /** The storage path. The path of the mount replaces its ID if the mount is known. */
  readonly path: string
  readonly operation: 'put' | 'delete'
}

const ENTRIES_PER_RECORD = 1000
const FRAMES_BYTES_READ = 1024 * 1024

export interface LostSuffix extends Required<Pick<Loss, 'entries' | 'entriesBeyond' | 'framesBeyond'>> {
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
  const suffix = new BoundedSuffix()
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
            .map((operation) => describe(entry.index, operation.key, operation.value === undefined, paths)),
        )
      if (lost.length > 0) suffix.add(lost, frame)
      at = frame.lastIndex
    }
  }
}

/** Collects lost entries and their frames up to a limit, and counts the rest. */
class BoundedSuffix {
  readonly #entries: LostEntry[] = []
  readonly #frames: Frame[] = []
  #entriesBeyond = 0
  #framesBeyond = 0
  #frameBytes = 0

  add(lost: readonly LostEntry[], frame: Frame): void {
    const named = lost.slice(0, LIMITS.lossEntriesMax - this.#entries.length)
    for (const entry of named) this.#entries.push(entry)
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

const describe = (index: number, key: string, isDelete: boolean, paths: ReadonlyMap<string, string>): LostEntry => {
  const found = findMountOf(key)
  const mount = found && paths.get(found.uuid)
  return { index, path: mount === undefined ? key : mount + found?.rest, operation: isDelete ? 'delete' : 'put' }
}

/**
 * Stores a loss. Writes the frames first and the head last, so that every listed loss is complete. Removes the oldest
 * losses beyond the limit, and resolves to their IDs.
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
  for (let from = 0; from < loss.entries.length; from += ENTRIES_PER_RECORD) {
    const part = loss.entries.slice(from, from + ENTRIES_PER_RECORD)
    await storage.write((tx) => putJson(tx, `${base}entries/${pad(from)}`, part))
  }
  const { entries, ...head } = loss
  await storage.write((tx) => putJson(tx, `${base}head`, { ...head, count: entries.length }))
  return dropOldest(storage, id)
}

const dropOldest = async (storage: Storage, newest: string): Promise<readonly string[]> => {
  const ids = (await storage.list(KEYS.losses)).map((folder) => folder.slice(0, -1)).filter((id) => id !== newest)
  const dropped = ids.sort().slice(0, Math.max(0, ids.length + 1 - LIMITS.lossesMax))
  for (const id of dropped) {
    await storage.write((tx) => tx.delete(`${KEYS.losses}${id}/head`))
    for (const key of await storage.keys(`${KEYS.losses}${id}/`)) await storage.write((tx) => tx.delete(key))
  }
  return dropped
}

/** Resolves to all losses, oldest first. */
export const readLosses = async (storage: Storage): Promise<Loss[]> => {
  const losses: Loss[] = []
  for (const folder of await storage.list(KEYS.losses)) {
    const head = readJson<Omit<Loss, 'entries'> & { count: number }>(storage, `${KEYS.losses}${folder}head`)
    if (!head) continue
    const parts = await storage.keys(`${KEYS.losses}${folder}entries/`)
    const entries = parts.flatMap((key) => readJson<LostEntry[]>(storage, key) ?? [])
    const { count: _, ...rest } = head
    losses.push({ ...rest, entries })
  }
  return losses
}

/**
 * Resolves to the ID of a loss. IDs sort by time. If the same loss was recorded before, for example before a crash,
 * returns its existing ID, so that it is listed once.
 */
export const lossIdFor = async (
  storage: Storage,
  nowMs: number,
  kind: Kind,
  { epoch, firstIndex }: Pick<Loss, 'epoch' | 'firstIndex'>,
): Promise<string> => {
  const what = `${kind}-${epoch}-${firstIndex}`
  const known = (await storage.list(KEYS.losses)).find((folder) => folder.endsWith(`-${what}/`))
  return known?.slice(0, -1) ?? `${pad(nowMs)}-${what}`
}

const pad = (n: number): string => String(n).padStart(15, '0')
