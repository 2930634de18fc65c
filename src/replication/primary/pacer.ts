import type { Clock } from '../../base/clock.js'

/**
 * Milliseconds that a copy pauses per millisecond of work while clients write. If primary and secondary share two
 * processors, a value of three leaves writers half of their throughput.
 */
const REST = 3
const REST_MAX_MS = 100

/**
 * Throttles a copy in favor of writers: it pauses between its slices while there are writes, and continues at once
 * otherwise.
 */
export class Pacer {
  readonly #clock: Clock
  readonly #lastIndex: () => number
  #index: number
  #sinceMs: number

  /** `lastIndex` returns the last index of the log, which grows with every write. */
  constructor(clock: Clock, lastIndex: () => number) {
    this.#clock = clock
    this.#lastIndex = lastIndex
    this.#index = lastIndex()
    this.#sinceMs = clock.monotonic()
  }

  /** Pauses if there are writes. Must be awaited between two slices. */
  async rest(): Promise<void> {
    const index = this.#lastIndex()
    const workedMs = this.#clock.monotonic() - this.#sinceMs
    if (index !== this.#index) await this.#clock.sleep(Math.min(workedMs * REST, REST_MAX_MS))
    this.#index = index
    this.#sinceMs = this.#clock.monotonic()
  }
}
