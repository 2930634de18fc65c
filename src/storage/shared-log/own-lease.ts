import type { Clock, Timer } from '../../base/clock.js'

/** The fraction of a lease on which its holder relies, because the clocks of two machines may differ in speed. */
const TRUSTED_PART = 0.9

/**
 * The time during which the holder of a lease can rely on it. Each renewal counts from before it was sent, by the
 * monotonic clock of the holder, and 10% are deducted. This time therefore ends before the lease can expire in the
 * consensus engine, even if responses are lost.
 */
export class OwnLease {
  readonly #clock: Clock
  readonly #leaseMs: number
  readonly #onEnd: () => void
  #endsMs: number
  #timer: Timer | undefined

  /** Starts a lease. `sentMs` is the monotonic time before the lease was requested. */
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

  /** Extends the lease after a successful renewal that was sent at this monotonic time. Ignores an ended lease. */
  renew(sentMs: number): void {
    if (this.isHeld) this.#endsMs = Math.max(this.#endsMs, sentMs + this.#leaseMs * TRUSTED_PART)
  }

  /** Ends the lease for its holder. The consensus engine is not notified. */
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
