import type { Surplus } from './epoch.js'
import type { Frame, WalPosition } from '../../storage/keys/replicable.js'

/** Maximum bytes to remember. The oldest frames are dropped first. */
const BYTES_MAX = 8 * 1024 * 1024
/** Maximum number of positions that are sent to a rewound primary: 3 MiB. */
const POSITIONS_MAX = 50_000

/** The entries of a follower after the last index that the new primary has. */
export interface SurplusEntries {
  readonly epoch: string
  /** The last index of that epoch's log that the new primary has. */
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

/** An applied frame of this cluster, and the hash of the primary's frame that it was made from. */
export interface Received {
  readonly frame: Frame
  readonly hash: Buffer
}

/**
 * The newest applied frames, with the indexes of the primary's log. They are kept in memory so that the cluster can list
 * the entries that it must discard if the primary is rewound, or if a new primary has less data.
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

  /** Continues after `place`. Keeps the frames if they end at `place`, as after a reconnection; otherwise drops them. */
  begin(place: WalPosition): void {
    if (place.index === this.#end?.index && place.hash.equals(this.#end.hash)) return
    this.#received = []
    this.#bytes = 0
    this.#start = place
    this.#end = place
  }

  /** Adds applied frames. `end`: the last applied position, which may be in a range of indexes without content. */
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
