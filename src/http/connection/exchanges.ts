import type { Clock, Timer } from '../../base/clock.js'
import { TransientMap } from '../../base/transient-map.js'
import type { Answer } from '../message/direct-answer.js'
import type { Message } from '../message/whole-message.js'

interface Exchange {
  readonly number: number
  readonly request: Message
  readonly response: Answer
  readonly startedMs: number
}

const SWEEP_MS = 1000

/** The requests in flight on one listener. */
export class Exchanges {
  readonly #clock: Clock
  readonly #open = new TransientMap<number, Exchange>()
  #begun = 0
  #sweep: Timer | undefined
  #isClosing = false
  #onEmpty: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get isClosing(): boolean {
    return this.#isClosing
  }

  begin(request: Message, response: Answer): Exchange {
    const exchange = { number: this.#begun++, request, response, startedMs: this.#clock.monotonic() }
    this.#open.set(exchange.number, exchange)
    return exchange
  }

  end(exchange: Exchange): void {
    this.#open.delete(exchange.number)
    if (this.#open.size === 0) this.#onEmpty?.()
  }

  /** Calls `onOverdue` for each request not answered within `requestMs` after its head was read, at most a second late. */
  watch(requestMs: number, onOverdue: (exchange: Exchange) => void): void {
    this.#sweep = this.#clock.setRepeating(SWEEP_MS, () => {
      const latestMs = this.#clock.monotonic() - requestMs
      for (const [, exchange] of this.#open) {
        if (exchange.startedMs <= latestMs) onOverdue(exchange)
      }
    })
  }

  /** Resolves when no request is in flight, or after `drainMs`. Returns undefined if there is nothing to wait for. */
  drain(drainMs: number): Promise<void> | undefined {
    this.#isClosing = true
    return this.#open.size > 0 && drainMs > 0 ? this.#drained(drainMs) : undefined
  }

  /** Stops the timeout sweep. Returns true if no request is in flight. */
  stop(): boolean {
    this.#sweep?.cancel()
    return this.#open.size === 0
  }

  #drained(drainMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#clock.setTimer(drainMs, resolve)
      this.#onEmpty = () => {
        timer.cancel()
        resolve()
      }
    })
  }
}
