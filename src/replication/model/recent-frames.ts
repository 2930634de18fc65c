import type { Surplus } from './epoch.js'
import type { Frame, WalPosition } from '../../storage/keys/replicable.js'

/** Maximum bytes to remember. The oldest frames are dropped first. */
const BYTES_MAX = 8 * 1024 * 1024
/** Maximum number of positions that are sent to a rewound primary: 3 MiB. */
const POSITIONS_MAX = 50_000

/** The entries that a follower has beyond the point at which another primary continues. */
export interface SurplusEntries {
  readonly epoch: string
  /** The last index of that epoch's log that the new primary builds on. */
  readonly forkIndex: number
  /** The last index that is applied here. */
  readonly lastIndex: number
  /** True if the fork is known exactly; otherwise the surplus may begin earlier. */
  readonly isForkSure: boolean
  /** The part of the surplus that is still in memory. */
  readonly frames: readonly Frame[]
  readonly isComplete: boolean
}

/** Returns the entries that a follower at `place` must discard; undefined if there are none. */
export const surplusEntriesOf = (
  place: { readonly index: number; readonly epoch: string },
  { after = place.index, isWhole }: Surplus,
  recentAfter: (index: number) => Pick<SurplusEntries, 'frames' | 'isComplete'>,
): SurplusEntries | undefined => {
  if (isWhole && after >= place.index) return undefined
  const forkIndex = Math.min(after, place.index)
  return { epoch: place.epoch, forkIndex, lastIndex: place.index, isForkSure: isWhole, ...recentAfter(forkIndex) }
}

/** A frame as applied here, and the hash of the primary's frame from which this cluster made it. */
export interface Received {
  readonly frame: Frame
  readonly hash: Buffer
}

/**
 * The newest part of the primary's log as applied here, with the primary's indexes. It is kept in memory in case the
 * primary is rewound, or replaced by one that has less data: the discarded entries can then be listed.
 */
export class RecentFrames {
  readonly #bytesMax: number
  #received: Received[] = []
  #bytes = 0
  /** The remembered frames begin after `#start` and end at `#end`. Both are undefined before `begin`. */
  #start: WalPosition | undefined
  #end: WalPosition | undefined

  constructor(bytesMax = BYTES_MAX) {
    this.#bytesMax = bytesMax
  }

  /** Continues after `place`: a reconnection keeps the remembered frames, any other position drops them. */
  begin(place: WalPosition): void {
    if (place.index === this.#end?.index && place.hash.equals(this.#end.hash)) return
    this.#received = []
    this.#bytes = 0
    this.#start = place
    this.#end = place
  }

  /** Adds applied frames. Index ranges without content before and after them extend to `end`. */
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

  /**
   * Returns the positions in the primary's log that this follower has passed, newest first, as many as fit into one
   * message.
   */
  positions(): readonly WalPosition[] {
    if (!this.#start) return []
    const ends = this.#received.map(({ frame, hash }) => ({ index: frame.lastIndex, hash }))
    return [this.#start, ...ends].reverse().slice(0, POSITIONS_MAX)
  }
}
