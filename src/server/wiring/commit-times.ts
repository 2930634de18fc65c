import type { Clock } from '../../base/clock.js'

/** Entries that are written within this interval, in ms, share one time. */
const STEP_MS = 100

/** Maximum number of stored times. */
const MARKS_MAX = 4096

interface Mark {
  /** The index of the first entry that was written at or after `atMs`. */
  readonly index: number
  readonly atMs: number
}

/**
 * Records when log entries were written, to compute for how long a secondary has lacked an entry. For entries from
 * before its creation, the time of its creation counts. When the maximum number of times is reached, old times become
 * less precise.
 */
export class CommitTimes {
  readonly #clock: Clock
  #marks: Mark[]
  #lastIndex: number

  constructor(clock: Clock, lastIndex: number) {
    this.#clock = clock
    this.#lastIndex = lastIndex
    this.#marks = [{ index: 0, atMs: clock.monotonic() }]
  }

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
   * Returns the time for which a secondary at `index` has lacked the next entry, in ms; 0 if it lacks none. The result
   * exceeds the actual time by at most one step, or by more for old entries.
   */
  lackingMs(index: number): number {
    if (index >= this.#lastIndex) return 0
    const mark = this.#marks.findLast((one) => one.index <= index + 1)
    return mark ? Math.max(this.#clock.monotonic() - mark.atMs, 0) : 0
  }
}
