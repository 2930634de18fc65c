import { LIMITS } from '../../base/limits.js'
import { PIECE_BYTES } from '../../base/turn.js'
import { LogicalError } from '../../logical/errors.js'
import type { Engine, KeyRange } from '../engine/engine.js'
import { parseFrame, parseFrameAtOnce } from './frame.js'
import { WAL_PREFIX, walIndexOf, walKey } from '../keys/raw-keys.js'
import type { Frame, WalPosition } from '../keys/replicable.js'
import type { StoreState } from '../state/store-state.js'
import { WalExtent } from './wal-extent.js'
import { WalRing } from './wal-ring.js'

/** Maximum number of frame records that one trim removes. */
const TRIM_FRAMES_MAX = 16_384

interface WalOptions {
  readonly engine: Engine
  readonly walRetentionEntries: number
  readonly walRetentionBytes: number
  readonly ringBytes: number
}

/**
 * The log of committed frames. Tracks the frames on disk, caches recent frames, reads frames, and selects frames to
 * trim. The store adds and deletes frames on disk as part of its batches.
 */
export class Wal {
  readonly #engine: Engine
  readonly #retention: { readonly entries: number; readonly bytes: number }
  readonly #extent = new WalExtent()
  readonly #ring: WalRing
  /** Hashes of frames that are slow to read, by their last indexes. */
  readonly #largeHashes = new Map<number, Buffer>()
  /** Last indexes of frames on disk that no longer belong to the log, because the log was cut. */
  #stale: readonly number[] = []
  #base: WalPosition = { index: 0, hash: Buffer.alloc(0) }
  #last: WalPosition = this.#base
  /** The start of the log after the trim that is being written, which may already have deleted earlier frames. */
  #nextBase: WalPosition = this.#base

  constructor(options: WalOptions) {
    this.#engine = options.engine
    this.#retention = {
      entries: Math.max(options.walRetentionEntries, LIMITS.walRetentionEntriesMin),
      bytes: options.walRetentionBytes,
    }
    this.#ring = new WalRing(options.ringBytes)
  }

  get base(): WalPosition {
    return this.#base
  }

  get last(): WalPosition {
    return this.#last
  }

  get bytes(): number {
    return this.#extent.bytes
  }

  /** Number and bytes of the frames in memory, from which secondaries with a small lag are served. */
  get recent(): { readonly frames: number; readonly bytes: number; readonly bytesMax: number } {
    const { length, bytes, bytesMax } = this.#ring
    return { frames: length, bytes, bytesMax }
  }

  /**
   * Reads the log from disk and verifies that each frame is intact and follows the previous one, up to the last index
   * of `state`. Calls `onFrame` for every frame. Rejects with `LogicalError` `internal` and the index of a break.
   */
  async load(state: StoreState, onFrame: (frame: Frame) => void): Promise<void> {
    this.reset(state.base)
    this.#stale = await readStale(this.#engine, state.base.index)
    for await (const frame of readChain(this.#engine, state)) {
      this.append(frame)
      onFrame(frame)
    }
  }

  /** Adds a frame that is stored on disk. */
  append(frame: Frame): void {
    this.#extent.push(frame.lastIndex, frame.bytes.length)
    this.#ring.push(frame)
    if (frame.bytes.length > PIECE_BYTES) this.#largeHashes.set(frame.lastIndex, Buffer.from(frame.hash))
    this.#last = { index: frame.lastIndex, hash: frame.hash }
  }

  /** Drops all frames: the log continues after `base`. The frames stay on disk as stale frames until a trim. */
  reset(base: WalPosition): void {
    this.#stale = [...this.#stale, ...this.#extent.ends()]
    this.#base = base
    this.#nextBase = base
    this.#last = base
    this.#extent.reset(base.index)
    this.#ring.clear()
    this.#largeHashes.clear()
  }

  /** Returns true if the log reaches back to this position but does not contain it. */
  isAstray(position: WalPosition): boolean {
    return position.index >= Math.max(this.#base.index, this.#nextBase.index) && !this.hasPosition(position)
  }

  hasPosition({ index, hash }: WalPosition): boolean {
    return this.hashAt(index)?.equals(hash) ?? false
  }

  /** See `ReplicableStore.framesAfter`. */
  async framesAfter(index: number, bytesMax: number): Promise<readonly Frame[] | undefined> {
    if (index < this.#base.index) return undefined
    if (index >= this.#last.index) return []
    const recent = this.#ring.after(index, bytesMax)
    if (recent !== undefined) return recent
    const found = await this.#read(index, bytesMax)
    // A trim may have removed the frames during the read.
    return index < this.#base.index ? undefined : found
  }

  /** The last indexes of stale frames to delete in one batch. */
  get stale(): readonly number[] {
    return this.#stale.slice(0, TRIM_FRAMES_MAX)
  }

  dropStale(count: number): void {
    this.#stale = this.#stale.slice(count)
  }

  /** Returns the last indexes of the frames to trim, oldest first. Applies the hard limit to a pinned log. */
  excess(isPinned: boolean): readonly number[] {
    const { entries, bytes } = this.#bounds(isPinned)
    return this.#extent.excess(entries, bytes, TRIM_FRAMES_MAX)
  }

  hasExcess(isPinned: boolean): boolean {
    const { entries, bytes } = this.#bounds(isPinned)
    return this.#stale.length > 0 || this.#extent.excess(entries, bytes, 1).length > 0
  }

  #bounds(isPinned: boolean): { readonly entries: number; readonly bytes: number } {
    if (!isPinned) return this.#retention
    return {
      entries: Math.max(this.#retention.entries, LIMITS.walPinnedEntriesMax),
      bytes: Math.max(this.#retention.bytes, LIMITS.walPinnedBytesMax),
    }
  }

  /** Announces a trim up to `base` before its batch is written. `isAstray` then ignores earlier positions. */
  leave(base: WalPosition): void {
    this.#nextBase = base
  }

  /** Drops the oldest `count` frames, of which the last ended at `base`. */
  dropOldest(count: number, base: WalPosition): void {
    this.#extent.dropOldest(count)
    this.#base = base
    this.#ring.trim(base.index)
    for (const index of this.#largeHashes.keys()) if (index <= base.index) this.#largeHashes.delete(index)
  }

  /** Applies a trim by another node. `gone`: last indexes of the removed frames. `base`: new start of the log. */
  trimmed(gone: ReadonlySet<number>, base: WalPosition): void {
    this.#stale = this.#stale.filter((index) => !gone.has(index))
    if (base.index > this.#base.index) this.dropOldest(this.#extent.countUpTo(base.index), base)
    // The log is empty on this node and on the other node, but has a new start.
    else if (this.#last.index === base.index) this.reset(base)
  }

  /** Returns the hash of the frame that ends at `index`, or undefined if the log has no such frame. */
  hashAt(index: number): Buffer | undefined {
    if (index === this.#last.index) return this.#last.hash
    if (index === this.#base.index) return this.#base.hash
    if (index < this.#base.index || index > this.#last.index) return undefined
    if (index === this.#nextBase.index) return this.#nextBase.hash
    return this.#largeHashes.get(index) ?? (this.#ring.find(index) ?? this.#readFrame(index))?.hash
  }

  /** Reads the frame that ends at `index` from disk. Returns undefined if there is none. */
  #readFrame(index: number): Frame | undefined {
    const bytes = this.#engine.get(walKey(index))
    return bytes === undefined ? undefined : requireIntact(parseFrameAtOnce(bytes), index)
  }

  async #read(index: number, bytesMax: number): Promise<Frame[]> {
    const found: Frame[] = []
    let bytes = 0
    const range = { gte: walKey(index + 1), lte: walKey(this.#last.index) }
    for await (const chunk of this.#engine.scan(range, { chunkBytes: bytesMax })) {
      for (const { key, value } of chunk) {
        bytes += value.length
        if (found.length > 0 && bytes > bytesMax) return found
        found.push(requireIntact(await parseFrame(value), key))
      }
    }
    return found
  }
}

const requireIntact = (frame: Frame | undefined, where: number | string): Frame => {
  if (frame === undefined) throw new LogicalError('internal', `cannot read log frame ${where}: it is damaged`)
  return frame
}

/** Resolves to the last indexes of frames on disk that precede the log, because a crash interrupted their removal. */
const readStale = async (engine: Engine, baseIndex: number): Promise<number[]> => {
  const found: number[] = []
  const range = { gte: WAL_PREFIX, lte: walKey(baseIndex) }
  for await (const chunk of engine.scan(range, { values: false })) {
    for (const { key } of chunk) found.push(walIndexOf(key))
  }
  return found
}

/**
 * Yields the frames of the log in order, up to the last index of `state`. Verifies the hash chain. Throws
 * `LogicalError` `internal` with the index of a break.
 */
async function* readChain(engine: Engine, state: StoreState): AsyncGenerator<Frame> {
  let end = state.base
  const range = { gt: walKey(state.base.index), lt: `${WAL_PREFIX}~` }
  for await (const chunk of readFrames(engine, range, () => end.index + 1)) {
    for (const { value } of chunk) {
      const frame = await parseFrame(value)
      if (frame === undefined) throw broken(end.index + 1, 'a frame is damaged')
      if (frame.firstIndex !== end.index + 1) throw broken(end.index + 1, 'frames are missing')
      if (!frame.previousHash.equals(end.hash)) throw broken(frame.firstIndex, 'the previous hash does not match')
      end = { index: frame.lastIndex, hash: frame.hash }
      yield frame
    }
  }
  if (end.index !== state.last.index || !end.hash.equals(state.last.hash)) {
    throw broken(end.index + 1, 'the end of the log is missing')
  }
}

async function* readFrames(engine: Engine, range: KeyRange, next: () => number): ReturnType<Engine['scan']> {
  try {
    yield* engine.scan(range)
  } catch (error) {
    if (!(error instanceof LogicalError) || error.code !== 'internal') throw error
    throw broken(next(), error.message)
  }
}

const broken = (index: number, reason: string): LogicalError =>
  new LogicalError(
    'internal',
    `the write-ahead log is broken at index ${index}: ${reason}. Restore the files. To discard the log up to the ` +
      'break, use "understudy storage adopt --force"; only lagging secondaries need the discarded frames',
  )
