import type { Clock, Timer } from '../../base/clock.js'

/** The fraction of a lease on which its holder relies, because the clocks of two machines may differ in speed. */
const TRUSTED_PART = 0.9
/** The fraction of a lease for which its holder waits for the response to a late renewal. */
const LATE_PART = 1 / 3

/**
 * The time during which the holder of a lease can rely on it. Each renewal counts from before it was sent, by the
 * monotonic clock of the holder, and 10% are deducted. This time therefore ends before the lease can expire in the
 * consensus engine, even if responses are lost.
 *
 * On an overloaded machine, the timers of the holder run late and before it reads the responses that have arrived. If
 * the time is over, the lease is therefore not held, but a renewal of the last third of a lease can still resume it.
 * This is as safe as a renewal in time: the renewal fails if another node has led since.
 */
export class OwnLease {
  readonly #clock: Clock
  readonly #leaseMs: number
  readonly #onEnd: () => void
  #endsMs: number
  #timer: Timer | undefined
  #isEnded = false

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

  /**
   * Extends the lease after a successful renewal that was sent at this monotonic time. Returns true if this resumes a
   * lease that was not held. Ignores an ended lease.
   */
  renew(sentMs: number): boolean {
    if (this.#isEnded) return false
    const wasHeld = this.isHeld
    this.#endsMs = Math.max(this.#endsMs, sentMs + this.#leaseMs * TRUSTED_PART)
    return !wasHeld && this.isHeld
  }

  /** Ends the lease for its holder. The consensus engine is not notified. */
  end(): void {
    this.#isEnded = true
    this.#endsMs = Number.NEGATIVE_INFINITY
    this.#timer?.cancel()
  }

  #watch(): void {
    const leftMs = this.#endsMs - this.#clock.monotonic()
    this.#timer = this.#clock.setTimer(leftMs, () => {
      if (this.isHeld) this.#watch()
      else this.#awaitLateRenewal()
    })
  }

  #awaitLateRenewal(): void {
    this.#timer = this.#clock.setTimer(this.#leaseMs * LATE_PART, () => {
      if (this.isHeld) this.#watch()
      else this.#onEnd()
    })
  }
}
