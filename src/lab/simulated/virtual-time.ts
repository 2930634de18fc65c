import { type Clock, sleepWith, type Timer } from '../../base/clock.js'
import { idleTurn } from '../../base/turn.js'
import { IDLE_TURNS_MAX, type SimulatedClock } from '../../server/simulated/simulated-clock.js'
import { LabError } from '../model/lab-error.js'
import { requireMs } from '../library/lab-clock.js'

/**
 * The clock of a simulated lab. While the test waits for a response, a condition or this clock, time advances as fast
 * as due work can run. Otherwise, time does not advance.
 *
 * @example
 * import { type SimulatedLabClock, startLab } from 'understudy-lab'
 *
 * await using lab = await startLab('single', { simulated: true })
 * const clock: SimulatedLabClock = lab.clock
 * await clock.advance('31m') // whatever falls due in half an hour has happened
 */
export interface SimulatedLabClock extends Clock {
  /**
   * Advances time by a number of milliseconds, or a duration with a unit such as `31m`. Resolves after all work that is
   * due in this time.
   */
  advance(duration: string | number): Promise<void>
}

/** Advances time only while a caller waits. */
export class VirtualTime implements SimulatedLabClock {
  readonly #clock: SimulatedClock
  readonly #waiting = new Set<(error: unknown) => void>()
  #isPassing = false
  #closed: LabError | undefined

  constructor(clock: SimulatedClock) {
    this.#clock = clock
  }

  /** Rejects all current and future waits. */
  close(error: LabError): void {
    this.#closed = error
    this.#giveUp(error)
  }

  /**
   * Advances time until `begin` completes. Calls may overlap. Rejects if `begin` is incomplete and no scheduled work is
   * left.
   */
  async passUntil<T>(begin: () => Promise<T>): Promise<T> {
    if (this.#closed) throw this.#closed
    let giveUp: (error: unknown) => void = () => undefined
    const stuck = new Promise<never>((_, reject) => {
      giveUp = reject
    })
    this.#waiting.add(giveUp)
    if (!this.#isPassing) void this.#pass()
    try {
      return await Promise.race([begin(), stuck])
    } finally {
      this.#waiting.delete(giveUp)
    }
  }

  now(): number {
    return this.#clock.now()
  }

  monotonic(): number {
    return this.#clock.monotonic()
  }

  setTimer(ms: number, fn: () => void): Timer {
    return this.#clock.setTimer(ms, fn)
  }

  setRepeating(ms: number, fn: () => void): Timer {
    return this.#clock.setRepeating(ms, fn)
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.passUntil(() => sleepWith(this.#clock, ms, signal))
  }

  async advance(duration: string | number): Promise<void> {
    await this.sleep(requireMs(duration))
  }

  /** Runs due work one by one, each to completion. A timer that throws rejects all waits. */
  async #pass(): Promise<void> {
    this.#isPassing = true
    for (let idle = 0; idle < IDLE_TURNS_MAX; ) {
      const isIdle = await idleTurn()
      if (this.#waiting.size === 0) break
      if (!isIdle) continue
      try {
        idle = this.#clock.runNext() ? 0 : idle + 1
      } catch (error) {
        this.#giveUp(error)
      }
    }
    this.#isPassing = false
    this.#giveUp(new LabError('timeout', 'the wait cannot end: the lab has no pending work'))
  }

  #giveUp(error: unknown): void {
    for (const giveUp of this.#waiting) giveUp(error)
    this.#waiting.clear()
  }
}
