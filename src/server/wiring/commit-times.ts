import type { Clock } from '../../base/clock.js'

/** Entries that were written within this time are not told apart. */
const STEP_MS = 100

const MARKS_MAX = 4096

interface Mark {
  /** The first entry that was written at this time or after it. */
  readonly index: number
  readonly atMs: number
}

/**
 * When the entries of the log were written, well enough to say for how long somebody has lacked one. Knows nothing of what was
 * written before it was made. Of more times than it keeps, the older ones become coarser.
 */
export class CommitTimes {
  readonly #clock: Clock
  #marks: Mark[]
  #lastIndex: number

  /** `lastIndex`: of the newest entry now. */
  constructor(clock: Clock, lastIndex: number) {
    this.#clock = clock
    this.#lastIndex = lastIndex
    this.#marks = [{ index: 0, atMs: clock.monotonic() }]
  }

  /** To be told of every commit. */
  committed(lastIndex: number): void {
    const atMs = this.#clock.monotonic()
    const newest = this.#marks.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY
    if (lastIndex > this.#lastIndex && atMs - newest >= STEP_MS) {
      if (this.#marks.length >= MARKS_MAX) this.#marks = this.#marks.filter((_, position) => position % 2 === 0)
      this.#marks.push({ index: this.#lastIndex + 1, atMs })
    }
    this.#lastIndex = lastIndex
  }

  /**
   * For how many milliseconds whoever has everything up to `index` has lacked the entry after it: at most a step too much, and
   * more where times have become coarse; 0 where there is none.
   */
  lackingMs(index: number): number {
    if (index >= this.#lastIndex) return 0
    const mark = this.#marks.findLast((one) => one.index <= index + 1)
    return mark ? Math.max(this.#clock.monotonic() - mark.atMs, 0) : 0
  }
}
