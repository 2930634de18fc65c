import type { Random } from './random.js'

interface BackoffBounds {
  readonly initialMs: number
  readonly maxMs: number
}

/** After a failure of the storage, such as a full disk, which people have to mend. */
export const STORAGE_BACKOFF: BackoffBounds = { initialMs: 500, maxMs: 60_000 }

/**
 * The pauses between attempts at something that fails, whatever it is: they double up to a limit, and each is 20 % longer
 * or shorter by chance, so that many who failed together do not try together again.
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

  /** Milliseconds to wait before the next attempt; never more than the limit. */
  next(): number {
    const { maxMs } = this.#bounds
    const baseMs = this.#nextMs
    this.#nextMs = Math.min(baseMs * 2, maxMs)
    const share = this.#random.bytes(2).readUInt16BE() / 0xffff
    return Math.min(baseMs * (0.8 + 0.4 * share), maxMs)
  }

  /** To be called after a success. */
  reset(): void {
    this.#nextMs = this.#bounds.initialMs
  }
}
