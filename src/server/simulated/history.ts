import { createHash } from 'node:crypto'
import type { Clock } from '../../base/clock.js'

/**
 * All that happens in a simulation, in order: its hash tells whether two runs were the same, and as a story it can be read.
 */
export class History {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #hash = createHash('sha256')
  readonly #lines: string[] = []
  readonly #isTold: boolean
  events = 0

  /** Without `isTold` nothing is kept but the hash. */
  constructor(clock: Pick<Clock, 'monotonic'>, isTold: boolean) {
    this.#clock = clock
    this.#isTold = isTold
  }

  /** `bytes` are a part of what has happened and not of the story. */
  add(who: string, what: string, bytes?: Buffer): void {
    this.events++
    this.#hash.update(`${this.#clock.monotonic()} ${who} ${what}\n`)
    if (bytes) this.#hash.update(bytes)
    this.tell(who, () => what)
  }

  /** What belongs to the story and follows from what has happened. */
  tell(who: string, what: () => string): void {
    if (this.#isTold)
      this.#lines.push(`${(this.#clock.monotonic() / 1000).toFixed(6).padStart(12)} ${who.padEnd(4)} ${what()}`)
  }

  get story(): readonly string[] {
    return this.#lines
  }

  /** Of everything until now. */
  get hash(): string {
    return this.#hash.copy().digest('hex').slice(0, 16)
  }
}
