import { type Clock, sleepWith, type Timer } from '../../src/base/clock.js'

/** A clock that can be suspended. While it is suspended, its time stops and no timer fires. */
export class FrozenClock implements Clock {
  readonly #clock: Clock
  readonly #due = new Set<() => void>()
  #frozenMs: number | undefined
  #missedMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  freeze(): void {
    this.#frozenMs ??= this.#clock.monotonic()
  }

  /** Resumes at the time of the suspension, and fires timers that were due. */
  thaw(): void {
    if (this.#frozenMs === undefined) return
    this.#missedMs += this.#clock.monotonic() - this.#frozenMs
    this.#frozenMs = undefined
    for (const fn of [...this.#due]) {
      this.#due.delete(fn)
      fn()
    }
  }

  now(): number {
    return this.#clock.now()
  }

  monotonic(): number {
    return (this.#frozenMs ?? this.#clock.monotonic()) - this.#missedMs
  }

  setTimer(ms: number, fn: () => void): Timer {
    const timer = this.#clock.setTimer(ms, () => this.#fire(fn))
    return { cancel: () => this.#cancel(timer, fn) }
  }

  setRepeating(ms: number, fn: () => void): Timer {
    const timer = this.#clock.setRepeating(ms, () => this.#fire(fn))
    return { cancel: () => this.#cancel(timer, fn) }
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepWith(this, ms, signal)
  }

  #fire(fn: () => void): void {
    if (this.#frozenMs === undefined) fn()
    else this.#due.add(fn)
  }

  #cancel(timer: Timer, fn: () => void): void {
    timer.cancel()
    this.#due.delete(fn)
  }
}
