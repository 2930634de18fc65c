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

/** Frames whose records one trimming removes at most. */
const TRIM_FRAMES_MAX = 16_384

interface WalOptions {
  readonly engine: Engine
  readonly retentionEntries: number
  readonly retentionBytes: number
  readonly ringBytes: number
}

/**
 * The log of committed frames: which are on disk, the recent ones in memory, reading them back, and which of them have
 * become too many. Writing them is the store's, since they go into its batches.
 */
export class Wal {
  readonly #engine: Engine
  readonly #retention: { readonly entries: number; readonly bytes: number }
  readonly #extent = new WalExtent()
  readonly #ring: WalRing
  /** Hashes of the frames that would take long to read, by their last indexes. */
  readonly #largeHashes = new Map<number, Buffer>()
  /** Frames that a cut left on disk. */
  #stale: readonly number[] = []
  #base: WalPosition = { index: 0, hash: Buffer.alloc(0) }
  #last: WalPosition = this.#base
  /** Where the log will begin when a batch is durable that is under way: until then some of it may be gone and some not. */
  #nextBase: WalPosition = this.#base

  constructor(options: WalOptions) {
    this.#engine = options.engine
    this.#retention = {
      entries: Math.max(options.retentionEntries, LIMITS.walRetentionEntriesMin),
      bytes: options.retentionBytes,
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

  /** The end of the log that is kept in memory, for followers that are nearly there. */
  get recent(): { readonly frames: number; readonly bytes: number; readonly bytesMax: number } {
    const { length, bytes, bytesMax } = this.#ring
    return { frames: length, bytes, bytesMax }
  }

  /**
   * Reads the whole kept log and checks that each frame is intact and follows the one before, up to the end that the
   * state names. `onFrame` sees every frame. Throws a LogicalError that says where the chain is broken.
   */
  async load(state: StoreState, onFrame: (frame: Frame) => void): Promise<void> {
    this.reset(state.base)
    this.#stale = await readStale(this.#engine, state.base.index)
    for await (const frame of readChain(this.#engine, state)) {
      this.append(frame)
      onFrame(frame)
    }
  }

  /** Takes a frame that is durable. */
  append(frame: Frame): void {
    this.#extent.push(frame.lastIndex, frame.bytes.length)
    this.#ring.push(frame)
    if (frame.bytes.length > PIECE_BYTES) this.#largeHashes.set(frame.lastIndex, Buffer.from(frame.hash))
    this.#last = { index: frame.lastIndex, hash: frame.hash }
  }

  /** Forgets every frame: the log goes on behind `base`. What lies on disk is stale from now on. */
  reset(base: WalPosition): void {
    this.#stale = [...this.#stale, ...this.#extent.ends()]
    this.#base = base
    this.#nextBase = base
    this.#last = base
    this.#extent.reset(base.index)
    this.#ring.clear()
    this.#largeHashes.clear()
  }

  /** Of a place where the log, as far as it is kept and goes on being kept, should lead through: whether it does not. */
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
    // The frame may have been trimmed while it was read, and its end with it.
    return index < this.#base.index ? undefined : found
  }

  /** Last indexes of frames that a cut left on disk and that can be removed, as many as fit in one batch. */
  get stale(): readonly number[] {
    return this.#stale.slice(0, TRIM_FRAMES_MAX)
  }

  dropStale(count: number): void {
    this.#stale = this.#stale.slice(count)
  }

  /** Last indexes of frames to trim now, oldest first. While a snapshot holds the log back it may grow to a hard bound. */
  excess(isPinned: boolean): readonly number[] {
    const { entries, bytes } = this.#bounds(isPinned)
    return this.#extent.excess(entries, bytes, TRIM_FRAMES_MAX)
  }

  hasExcess(isPinned: boolean): boolean {
    const { entries, bytes } = this.#bounds(isPinned)
    return this.#stale.length > 0 || this.#extent.isOver(entries, bytes)
  }

  #bounds(isPinned: boolean): { readonly entries: number; readonly bytes: number } {
    if (!isPinned) return this.#retention
    return {
      entries: Math.max(this.#retention.entries, LIMITS.walPinnedEntriesMax),
      bytes: Math.max(this.#retention.bytes, LIMITS.walPinnedBytesMax),
    }
  }

  /** Frames up to there are about to be removed by a batch: nobody is told any more that the log leads through them. */
  leave(base: WalPosition): void {
    this.#nextBase = base
  }

  /** Forgets the oldest `count` frames; the last of them ended at `base`. */
  dropOldest(count: number, base: WalPosition): void {
    this.#extent.dropOldest(count)
    this.#base = base
    this.#ring.trim(base.index)
    for (const index of this.#largeHashes.keys()) if (index <= base.index) this.#largeHashes.delete(index)
  }

  /** Takes over what another node has removed, frames by their last indexes, and where the log begins by that. */
  trimmed(gone: ReadonlySet<number>, base: WalPosition): void {
    this.#stale = this.#stale.filter((index) => !gone.has(index))
    if (base.index > this.#base.index) this.dropOldest(this.#extent.countUpTo(base.index), base)
    // A log that is empty here and there, but was begun there.
    else if (this.#last.index === base.index) this.reset(base)
  }

  /** The hash of the frame that ends at `index`; undefined when none does. */
  hashAt(index: number): Buffer | undefined {
    if (index === this.#last.index) return this.#last.hash
    if (index === this.#base.index) return this.#base.hash
    if (index < this.#base.index || index > this.#last.index) return undefined
    if (index === this.#nextBase.index) return this.#nextBase.hash
    return this.#largeHashes.get(index) ?? (this.#ring.find(index) ?? this.#readFrame(index))?.hash
  }

  /** The frame that ends at `index`, from disk; undefined when none does. */
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
  if (frame === undefined) throw new LogicalError('internal', `log frame ${where} is damaged`)
  return frame
}

/** Frames that lie before the kept log because a crash came before they were removed. */
const readStale = async (engine: Engine, baseIndex: number): Promise<number[]> => {
  const found: number[] = []
  const range = { gte: WAL_PREFIX, lte: walKey(baseIndex) }
  for await (const chunk of engine.scan(range, { values: false })) {
    for (const { key } of chunk) found.push(walIndexOf(key))
  }
  return found
}

/** The kept frames in order, each checked against the one before, up to the end that `state` names. */
async function* readChain(engine: Engine, state: StoreState): AsyncGenerator<Frame> {
  let end = state.base
  const range = { gt: walKey(state.base.index), lt: `${WAL_PREFIX}~` }
  for await (const chunk of readFrames(engine, range, () => end.index + 1)) {
    for (const { value } of chunk) {
      const frame = await parseFrame(value)
      if (frame === undefined) throw broken(end.index + 1, 'a frame is damaged')
      if (frame.firstIndex !== end.index + 1) throw broken(end.index + 1, 'frames are missing')
      if (!frame.previousHash.equals(end.hash)) throw broken(frame.firstIndex, 'a frame does not follow the one before')
      end = { index: frame.lastIndex, hash: frame.hash }
      yield frame
    }
  }
  if (end.index !== state.last.index || !end.hash.equals(state.last.hash)) {
    throw broken(end.index + 1, 'its end is missing')
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
    `the write-ahead log is broken at index ${index}: ${reason}. Put the files back as they were; to go on without the log up ` +
      'to what is broken of it, which only secondaries that are behind need, use "understudy storage adopt --force"',
  )
