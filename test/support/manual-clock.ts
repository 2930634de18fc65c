import { type Clock, sleepWith, type Timer } from '../../src/base/clock.js'

/** A clock that moves only when it is told to: virtual time for tests and simulations. */
export class ManualClock implements Clock {
  #nowMs: number
  #sequence = 0
  readonly #startMs: number
  readonly #timers = new Set<{ dueMs: number; order: number; everyMs: number | undefined; fn: () => void }>()

  constructor(startMs = 1_700_000_000_000) {
    this.#nowMs = startMs
    this.#startMs = startMs
  }

  now(): number {
    return this.#nowMs
  }

  monotonic(): number {
    return this.#nowMs - this.#startMs
  }

  setTimer(ms: number, fn: () => void): Timer {
    return this.#add(ms, undefined, fn)
  }

  setRepeating(ms: number, fn: () => void): Timer {
    return this.#add(ms, Math.max(ms, 1), fn)
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepWith(this, ms, signal)
  }

  /** Moves time forward by `ms` and runs what falls due, in order of time. */
  advance(ms: number): void {
    const endMs = this.#nowMs + ms
    for (;;) {
      const next = [...this.#timers]
        .filter((timer) => timer.dueMs <= endMs)
        .sort((a, b) => a.dueMs - b.dueMs || a.order - b.order)[0]
      if (!next) break
      this.#nowMs = Math.max(this.#nowMs, next.dueMs)
      if (next.everyMs === undefined) this.#timers.delete(next)
      else next.dueMs += next.everyMs
      next.fn()
    }
    this.#nowMs = endMs
  }

  #add(ms: number, everyMs: number | undefined, fn: () => void): Timer {
    const timer = { dueMs: this.#nowMs + Math.max(ms, 0), order: this.#sequence++, everyMs, fn }
    this.#timers.add(timer)
    return { cancel: () => void this.#timers.delete(timer) }
  }
}
