import type { Clock } from '../../base/clock.js'

/**
 * How long a copy rests for every millisecond that it works while there are writes. Where primary and secondary share two
 * processors, three of it leave writers half of their rate.
 */
const REST = 3
const REST_MAX_MS = 100

/** Leaves room for those who write: while there are writes, a copy rests between its slices; else it goes on at once. */
export class Pacer {
  readonly #clock: Clock
  readonly #lastIndex: () => number
  #index: number
  #sinceMs: number

  /** `lastIndex` is that of the log, which moves with every write. */
  constructor(clock: Clock, lastIndex: () => number) {
    this.#clock = clock
    this.#lastIndex = lastIndex
    this.#index = lastIndex()
    this.#sinceMs = clock.monotonic()
  }

  /** To be awaited between two slices. */
  async rest(): Promise<void> {
    const index = this.#lastIndex()
    const workedMs = this.#clock.monotonic() - this.#sinceMs
    if (index !== this.#index) await this.#clock.sleep(Math.min(workedMs * REST, REST_MAX_MS))
    this.#index = index
    this.#sinceMs = this.#clock.monotonic()
  }
}
