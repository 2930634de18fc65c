import type { Surplus } from './epoch.js'
import type { Frame, WalPosition } from '../../storage/keys/replicable.js'

/** Maximum bytes of the frames in memory. The oldest frames are dropped first. */
const BYTES_MAX = 8 * 1024 * 1024
/** Maximum number of positions in a message to a rewound primary. They have about 3 MiB. */
const POSITIONS_MAX = 50_000

/** The entries that a secondary has applied and the new primary does not have. */
export interface SurplusEntries {
  readonly epoch: string
  /** The last index of this epoch's log that the new primary has. */
  readonly forkIndex: number
  /** The last index of this epoch's log that the secondary has applied. */
  readonly lastIndex: number
  /** True if `forkIndex` is exact. If false, the surplus may begin earlier. */
  readonly isForkSure: boolean
  /** The frames of the surplus that are still in memory. */
  readonly frames: readonly Frame[]
  readonly isComplete: boolean
}

/**
 * Returns a check for `findSurplus`: true if a secondary has applied another entry of its primary's log at a position.
 * `applied`: the positions that the secondary has applied, if known.
 */
export const isAstrayFrom =
  (applied: readonly WalPosition[] = []) =>
  ({ index, hash }: WalPosition): boolean =>
    applied.some((one) => one.index === index && !one.hash.equals(hash))

/** Returns the entries that a secondary at `position` must discard, or undefined if there are none. */
export const surplusEntriesOf = (
  position: { readonly index: number; readonly epoch: string },
  { after = position.index, isWhole }: Surplus,
  recentAfter: (index: number) => Pick<SurplusEntries, 'frames' | 'isComplete'>,
): SurplusEntries | undefined => {
  if (isWhole && after >= position.index) return undefined
  const forkIndex = Math.min(after, position.index)
  return { epoch: position.epoch, forkIndex, lastIndex: position.index, isForkSure: isWhole, ...recentAfter(forkIndex) }
}

/** An applied frame of this cluster, and the hash of the primary's frame from which it was made. */
export interface Received {
  readonly frame: Frame
  readonly hash: Buffer
}

/**
 * The most recently applied frames, with indexes of the primary's log. If the primary is rewound or a new primary has
 * less data, they show which entries this cluster must discard.
 */
export class RecentFrames {
  readonly #bytesMax: number
  #received: Received[] = []
  #bytes = 0
  /** The frames in memory begin after `#start` and end at `#end`. Both are undefined before `begin`. */
  #start: WalPosition | undefined
  #end: WalPosition | undefined

  constructor(bytesMax = BYTES_MAX) {
    this.#bytesMax = bytesMax
  }

  /**
   * Continues after `position`. Keeps the frames if they end at this position, for example after a reconnection.
   * Otherwise drops all frames.
   */
  begin(position: WalPosition): void {
    if (position.index === this.#end?.index && position.hash.equals(this.#end.hash)) return
    this.#received = []
    this.#bytes = 0
    this.#start = position
    this.#end = position
  }

  /**
   * Adds applied frames. `end` is the last applied position. It may be after the last frame, because filtered indexes
   * have no frames.
   */
  add(received: readonly Received[], end: WalPosition): void {
    this.#end = end
    for (const one of received) {
      this.#received.push(one)
      this.#bytes += one.frame.bytes.length
    }
    while (this.#bytes > this.#bytesMax) {
      const oldest = this.#received.shift()
      if (!oldest) return
      this.#bytes -= oldest.frame.bytes.length
      this.#start = { index: oldest.frame.lastIndex, hash: oldest.hash }
    }
  }

  after(index: number): Pick<SurplusEntries, 'frames' | 'isComplete'> {
    const frames = this.#received.map(({ frame }) => frame).filter((frame) => frame.lastIndex > index)
    return { frames, isComplete: this.#start !== undefined && this.#start.index <= index }
  }

  /** Returns the positions in the primary's log that this secondary has applied, newest first. */
  positions(): readonly WalPosition[] {
    if (!this.#start) return []
    const ends = this.#received.map(({ frame, hash }) => ({ index: frame.lastIndex, hash }))
    return [this.#start, ...ends].reverse().slice(0, POSITIONS_MAX)
  }
}
