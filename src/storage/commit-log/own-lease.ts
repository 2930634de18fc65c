import type { Clock, Timer } from '../../base/clock.js'

/** The part of a lease that its holder counts on: clocks of two machines do not run at quite the same speed. */
const TRUSTED_PART = 0.9

/**
 * A lease as its holder may count on it: by its own monotonic clock, from before each renewal was sent, and a tenth shorter
 * than it was given. So it ends here before it can have ended elsewhere, whatever becomes of the answers.
 */
export class OwnLease {
  readonly #clock: Clock
  readonly #leaseMs: number
  readonly #onEnd: () => void
  #endsMs: number
  #timer: Timer | undefined

  /** `sentMs`: the monotonic time before it was asked for. */
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

  /** It was renewed, by a question that was asked at this monotonic time. One that has ended does not begin again. */
  renew(sentMs: number): void {
    if (this.isHeld) this.#endsMs = Math.max(this.#endsMs, sentMs + this.#leaseMs * TRUSTED_PART)
  }

  /** It is not counted on any more. */
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
