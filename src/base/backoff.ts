import type { Random } from './random.js'

interface BackoffBounds {
  readonly initialMs: number
  readonly maxMs: number
}

/** Pauses after a storage failure that an operator must fix, for example a full disk. */
export const STORAGE_BACKOFF: BackoffBounds = { initialMs: 500, maxMs: 60_000 }

/**
 * Pauses between attempts. They double up to a limit, with a random variation of 20%, so that many clients that failed
 * together do not retry together.
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

  /** Returns the milliseconds to wait before the next attempt, at most the limit. */
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
