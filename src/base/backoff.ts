import type { Random } from './random.js'

interface BackoffBounds {
  readonly initialMs: number
  readonly maxMs: number
}

/** The pauses after a storage failure that an operator must fix, such as a full disk. */
export const STORAGE_BACKOFF: BackoffBounds = { initialMs: 500, maxMs: 60_000 }

/**
 * The pauses between attempts. Each pause is twice as long as the previous pause, up to a maximum. A random variation
 * of 20% prevents clients that failed together from retrying together.
 */
export class Backoff {
  readonly #bounds: BackoffBounds
  readonly #random: Random
  #nextMs: number

  constructor(bounds: BackoffBounds, random: Random) {
    this.#bounds = bounds
    this.#random = random
    this.#nextMs = bounds.initialMs
  }

  /** Returns the pause before the next attempt, in milliseconds. */
  next(): number {
    const { maxMs } = this.#bounds
    const baseMs = this.#nextMs
    this.#nextMs = Math.min(baseMs * 2, maxMs)
    const share = this.#random.bytes(2).readUInt16BE() / 0xffff
    return Math.min(baseMs * (0.8 + 0.4 * share), maxMs)
  }

  /** Restarts with the initial pause. Must be called after a success. */
  reset(): void {
    this.#nextMs = this.#bounds.initialMs
  }
}
