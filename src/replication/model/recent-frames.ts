import type { Surplus } from './epoch.js'
import type { Frame, WalPosition } from '../../storage/keys/replicable.js'

/** Frames beyond these are forgotten, the oldest first. */
const BYTES_MAX = 8 * 1024 * 1024
/** Places named to a primary that was put back in time: 3 MiB of them. */
const POSITIONS_MAX = 50_000

/** The entries that a follower has beyond the point from which another primary goes on. */
export interface SurplusEntries {
  /** The epoch that the surplus is of. */
  readonly epoch: string
  /** The last index of that epoch's log that the new primary builds on. */
  readonly forkIndex: number
  /** The last index that is applied here. */
  readonly lastIndex: number
  /** True where the fork is known to be there; else the surplus may begin before it. */
  readonly isForkSure: boolean
  /** The surplus, as far as it is remembered. */
  readonly frames: readonly Frame[]
  readonly isComplete: boolean
}

/** The entries that a follower at `place` gives up; undefined when there are none. */
export const surplusEntriesOf = (
  place: { readonly index: number; readonly epoch: string },
  { after = place.index, isWhole }: Surplus,
  recentAfter: (index: number) => Pick<SurplusEntries, 'frames' | 'isComplete'>,
): SurplusEntries | undefined => {
  if (isWhole && after >= place.index) return undefined
  const forkIndex = Math.min(after, place.index)
  return { epoch: place.epoch, forkIndex, lastIndex: place.index, isForkSure: isWhole, ...recentAfter(forkIndex) }
}

/** A frame as it was applied here, and the hash of the primary's frame that it was made of. */
export interface Received {
  readonly frame: Frame
  readonly hash: Buffer
}

/**
 * The newest part of the primary's log as it was applied here, in its own numbering. Kept in memory for the day on which
 * the primary is replaced by one that has less, or is put back in time: what is given up then can be named.
 */
export class RecentFrames {
  readonly #bytesMax: number
  #received: Received[] = []
  #bytes = 0
  /** The remembered frames begin behind `#start` and end at `#end`; both are undefined before `begin`. */
  #start: WalPosition | undefined
  #end: WalPosition | undefined

  constructor(bytesMax = BYTES_MAX) {
    this.#bytesMax = bytesMax
  }

  /** The log goes on behind `place`: a reconnection keeps what is remembered, any other place begins anew. */
  begin(place: WalPosition): void {
    if (place.index === this.#end?.index && place.hash.equals(this.#end.hash)) return
    this.#received = []
    this.#bytes = 0
    this.#start = place
    this.#end = place
  }

  /** Adds frames that were applied; stretches without content before and behind them reach to `end`. */
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

  /** Places in the primary's log that were passed through, the newest first, as many as one message holds. */
  positions(): readonly WalPosition[] {
    if (!this.#start) return []
    const ends = this.#received.map(({ frame, hash }) => ({ index: frame.lastIndex, hash }))
    return [this.#start, ...ends].reverse().slice(0, POSITIONS_MAX)
  }
}
