import { LIMITS } from '../../base/limits.js'
import { type Category, findMountOf } from '../../storage/keys/key-families.js'
import type { Frame, ReplicableStore, WalOperation } from '../../storage/keys/replicable.js'
import { decodeFrame } from '../../storage/log/frame.js'
import { leafHash, NO_LEAF } from '../../storage/trees/leaf.js'
import type { MountFact } from '../model/compile-filter.js'
import { recordKey } from '../model/state.js'
import type { Kind } from '../model/types.js'
import type { Loss, OpenEntry } from './losses.js'

/** Bytes of log frames that one read returns. */
const FRAMES_BYTES_READ = 1024 * 1024

/** The end of a log that a failover lost, as far as it fits into a list. */
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
