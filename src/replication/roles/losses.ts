import { LIMITS } from '../../base/limits.js'
import type { Storage } from '../../logical/storage.js'
import { putJson, readJson } from '../../logical/storage.js'
import { type Category, findMountOf, KEYS } from '../../storage/keys/key-families.js'
import type { Frame, ReplicableStore } from '../../storage/keys/replicable.js'
import type { MountFact } from '../model/compile-filter.js'
import { recordKey } from '../model/state.js'
import type { Kind } from '../model/types.js'

/**
 * The entries that a failover cost, one by one. The cluster that has to give something up writes the list, and the
 * encrypted log frames themselves, under a prefix that never leaves it, before anything of it is overwritten. Lists are
 * bounded, in number and in what each holds, and say what they leave out.
 */
export interface Loss {
  /** The epoch whose entries were lost. */
  readonly epoch: string
  readonly firstIndex: number
  readonly lastIndex: number
  readonly reason: string
  readonly entries: readonly LostEntry[]
  /** Entries behind these that were lost, too, and are not named. */
  readonly entriesBeyond?: number
  /** Log frames that were not kept aside. */
  readonly framesBeyond?: number
}

export interface LostEntry {
  readonly index: number
  /** The storage path, with the mount's path in place of its id where it is known. */
  readonly path: string
  readonly operation: 'put' | 'delete'
}

const ENTRIES_PER_RECORD = 1000
const FRAMES_BYTES_READ = 1024 * 1024

export interface LostSuffix {
  readonly entries: readonly LostEntry[]
  readonly entriesBeyond: number
  readonly frames: readonly Frame[]
  readonly framesBeyond: number
  /** True when part of it is no longer on disk. */
  readonly isTrimmed: boolean
}

/**
 * The data that a cluster alone may lose with a role: all that secondaries of the kind get, except shared data of a
 * performance primary, which has it still and lists it itself otherwise.
 */
export const isOwnOf =
  (kind: Kind, isPerformanceCopy: boolean) =>
  (category: Category): boolean =>
    kind === 'dr' ? category !== 'replicated' || !isPerformanceCopy : category === 'replicated'

/** The entries of this store's log behind `index`, as far as their category `isOwn`. */
export const collectSuffix = async (
  store: Pick<ReplicableStore, 'framesAfter' | 'decodeFrame' | 'position' | 'firstIndex'>,
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
      const lost = store
        .decodeFrame(frame)
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

/** As much of a suffix as a list may hold, and how much more there was. */
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

/** Filtered operations have no key, and the role that a failover changes is no loss. */
const isData = (key: string): boolean => key !== '' && key !== recordKey('performance')

const describe = (index: number, key: string, isDelete: boolean, paths: ReadonlyMap<string, string>): LostEntry => {
  const place = findMountOf(key)
  const mount = place && paths.get(place.uuid)
  return { index, path: mount === undefined ? key : mount + place?.rest, operation: isDelete ? 'delete' : 'put' }
}

/**
 * Makes a loss durable: its frames first, the record that names it last, so that a listed loss is whole. Resolves to the ids
 * of old losses that had to make room.
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

/** All losses, oldest first. */
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
 * Where a loss is kept. Ids sort by time; one that a crash interrupted, or that is met again because what followed it never
 * happened, keeps its own, so that nothing is listed twice.
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
