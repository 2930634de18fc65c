import type { Frame } from '../../storage/replicable.js'
import type { LogPlace } from '../types.js'

/** Frames beyond these are forgotten, the oldest first. */
const BYTES_MAX = 8 * 1024 * 1024

/** What a follower has beyond the point from which another primary goes on. */
export interface Lead {
  /** The epoch that the surplus is of. */
  readonly epoch: string
  /** The last index of that epoch's log that the new primary builds on. */
  readonly forkIndex: number
  /** The last index that is applied here. */
  readonly lastIndex: number
  /** The surplus, as far as it is remembered. */
  readonly frames: readonly Frame[]
  readonly isComplete: boolean
}

/**
 * The newest part of the primary's log as it was applied here, in its own numbering. Kept in memory for the day on which
 * the primary is replaced by one that has less: what is given up then can be named.
 */
export class RecentFrames {
  readonly #bytesMax: number
  #epoch = ''
  #frames: Frame[] = []
  #bytes = 0
  /** What is remembered begins behind the first index, and ends at the second. */
  #start = 0
  #end = -1

  constructor(bytesMax = BYTES_MAX) {
    this.#bytesMax = bytesMax
  }

  /**
   * The log goes on behind this place: a reconnection keeps what is remembered, any other place begins anew, be it that of
   * another log with the same number.
   */
  begin({ index, epoch }: LogPlace): void {
    if (index === this.#end && epoch === this.#epoch) return
    this.#epoch = epoch
    this.#frames = []
    this.#bytes = 0
    this.#start = index
    this.#end = index
  }

  /** The same log goes on in another epoch. */
  enter(epoch: string): void {
    this.#epoch = epoch
  }

  /** These were applied; stretches without content before and behind them reach to `lastIndex`. */
  add(frames: readonly Frame[], lastIndex: number): void {
    this.#end = lastIndex
    for (const frame of frames) {
      this.#frames.push(frame)
      this.#bytes += frame.bytes.length
    }
    while (this.#bytes > this.#bytesMax) {
      const oldest = this.#frames.shift()
      if (!oldest) return
      this.#bytes -= oldest.bytes.length
      this.#start = oldest.lastIndex
    }
  }

  after(index: number): Pick<Lead, 'frames' | 'isComplete'> {
    return { frames: this.#frames.filter((frame) => frame.lastIndex > index), isComplete: this.#start <= index }
  }
}
