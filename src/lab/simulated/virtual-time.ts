import { type Clock, sleepWith, type Timer } from '../../base/clock.js'
import { idleTurn } from '../../base/turn.js'
import { IDLE_TURNS_MAX, type SimulatedClock } from '../../server/simulated/simulated-clock.js'
import { LabError } from '../model/lab-error.js'
import { requireMs } from '../library/lab-clock.js'

/**
 * The time of a simulated lab. It passes while somebody of the test waits for an answer, a fact or this clock, as fast as
 * what falls due can be done, and stands still otherwise.
 *
 * @example
 * import { type SimulatedLabClock, startLab } from 'understudy-lab'
 *
 * await using lab = await startLab('single', { simulated: true })
 * const clock: SimulatedLabClock = lab.clock
 * await clock.advance('31m') // whatever falls due in half an hour has happened
 */
export interface SimulatedLabClock extends Clock {
  /** Lets time pass: a number of milliseconds, or a text with a unit such as `31m`. Resolves when all that falls due in it has happened. */
  advance(duration: string | number): Promise<void>
}

/** Has time pass for as long as somebody waits, and no longer. */
export class VirtualTime implements SimulatedLabClock {
  readonly #clock: SimulatedClock
  readonly #waiting = new Set<(error: unknown) => void>()
  #isPassing = false
  #closed: LabError | undefined

  constructor(clock: SimulatedClock) {
    this.#clock = clock
  }

  /** Nothing is begun any more, and what is under way is given up. */
  close(error: LabError): void {
    this.#closed = error
    this.#giveUp(error)
  }

  /** Has time pass until this ends. Several may be under way at once. Rejects when nothing is left that could end it. */
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
    const ms = requireMs(duration)
    if (ms < 0) throw new LabError('usage', `the time of a simulated lab does not go back, as by ${duration}`)
    await this.sleep(ms)
  }

  /** One thing after the other, each to its end before the next. A timer that throws ends all that wait. */
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
    this.#giveUp(new LabError('timeout', 'nothing is left to happen in this lab that could end the wait'))
  }

  #giveUp(error: unknown): void {
    for (const giveUp of this.#waiting) giveUp(error)
    this.#waiting.clear()
  }
}
