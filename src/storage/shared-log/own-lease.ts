import type { Clock, Timer } from '../../base/clock.js'

/** The fraction of a lease that its holder relies on, because the clocks of two machines differ in speed. */
const TRUSTED_PART = 0.9

/**
 * The part of a lease on which its holder can rely. It is measured with the holder's monotonic clock, from before each
 * renewal was sent, and is 10% shorter than granted. It therefore ends before the lease can expire in the consensus
 * engine, even if responses are lost.
 */
export class OwnLease {
  readonly #clock: Clock
  readonly #leaseMs: number
  readonly #onEnd: () => void
  #endsMs: number
  #timer: Timer | undefined

  /** `sentMs`: the monotonic time before the lease was requested. */
  constructor(clock: Clock, leaseMs: number, sentMs: number, onEnd: () => void) {
    this.#clock = clock
    this.#leaseMs = leaseMs
    this.#onEnd = onEnd
    this.#endsMs = sentMs + leaseMs * TRUSTED_PART
    this.#watch()
  }

  get isHeld(): boolean {
    return this.#clock.monotonic() < this.#endsMs
  }

  /**
   * Extends the lease after a renewal that was sent at this monotonic time. Has no effect on a lease that has ended.
   */
  renew(sentMs: number): void {
    if (this.isHeld) this.#endsMs = Math.max(this.#endsMs, sentMs + this.#leaseMs * TRUSTED_PART)
  }

  /** Ends the lease locally. */
  end(): void {
    this.#endsMs = Number.NEGATIVE_INFINITY
    this.#timer?.cancel()
  }

  #watch(): void {
    const leftMs = this.#endsMs - this.#clock.monotonic()
    this.#timer = this.#clock.setTimer(leftMs, () => {
      if (this.isHeld) this.#watch()
      else this.#onEnd()
    })
  }
}
