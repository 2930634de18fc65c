import type { Clock } from '../../base/clock.js'
import type { Random } from '../../base/random.js'

/** Waiting times that double up to a limit, each 20 % longer or shorter by chance, so that followers do not come at once. */
export class Backoff {
  readonly #initialMs: number
  readonly #maxMs: number
  readonly #random: Random
  #nextMs: number

  constructor(initialMs: number, maxMs: number, random: Random) {
    this.#initialMs = initialMs
    this.#maxMs = maxMs
    this.#random = random
    this.#nextMs = initialMs
  }

  /** Milliseconds to wait before the next attempt; never more than the limit. */
  next(): number {
    const baseMs = this.#nextMs
    this.#nextMs = Math.min(baseMs * 2, this.#maxMs)
    const share = this.#random.bytes(2).readUInt16BE() / 0xffff
    return Math.min(baseMs * (0.8 + 0.4 * share), this.#maxMs)
  }

  reset(): void {
    this.#nextMs = this.#initialMs
  }
}

/** A wait that somebody may end before its time. */
export class Pause {
  readonly #clock: Clock
  #end: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async wait(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = this.#clock.setTimer(ms, resolve)
      this.#end = () => {
        timer.cancel()
        resolve()
      }
    })
    this.#end = undefined
  }

  end(): void {
    this.#end?.()
  }
}
