import { type Clock, sleepWith, type Timer } from '../../base/clock.js'
import { stepsInTurn } from '../../base/turn.js'
import type { Chance } from './chance.js'

interface Due {
  readonly dueMs: number
  readonly order: number
  fn: (() => void) | undefined
}

const START_MS = 1_700_000_000_000
/** Returns a repeating timer. Each expiry starts the next one. */
const repeatWith = (clock: Pick<Clock, 'setTimer'>, ms: number, fn: () => void): Timer => {
  let timer: Timer
  const again = () => {
    timer = clock.setTimer(Math.max(ms, 1), again)
    fn()
  }
  timer = clock.setTimer(Math.max(ms, 1), again)
  return { cancel: () => timer.cancel() }
}

/**
 * Maximum random delay of a timer, in ms. Timers that are due almost at the same time run in a different order for each
 * seed.
 */
const LATE_MS_MAX = 1
/** Number of consecutive idle turns of the event loop without a timer after which `run` fails. */
export const IDLE_TURNS_MAX = 10_000

/** Shortest timer that is not due immediately, in ms. Rounding of the elapsed time would lose a shorter time. */
const RESOLUTION_MS = 0.001

/**
 * A clock that advances only when the simulated code has no more work at the current time. Due timers run one after the
 * other. The simulated code must wait only for this clock.
 */
export class SimulatedClock implements Clock {
  readonly #chance: Pick<Chance, 'next'>
  readonly #startMs: number
  readonly #heap: Due[] = []
  #elapsedMs = 0
  #order = 0
  steps = 0

  constructor(chance: Pick<Chance, 'next'>, startMs = START_MS) {
    this.#chance = chance
    this.#startMs = startMs
  }

  now(): number {
    return this.#startMs + Math.floor(this.#elapsedMs)
  }

  monotonic(): number {
    return this.#elapsedMs
  }

  setTimer(ms: number, fn: () => void): Timer {
    const due: Due = {
      dueMs: this.#elapsedMs + (ms > 0 ? Math.max(ms, RESOLUTION_MS) : 0) + this.#chance.next() * LATE_MS_MAX,
      order: this.#order++,
      fn,
    }
    this.#push(due)
    return {
      cancel: () => {
        due.fn = undefined
      },
    }
  }

  setRepeating(ms: number, fn: () => void): Timer {
    return repeatWith(this, ms, fn)
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepWith(this, ms, signal)
  }

  /** Advances the time until `main` has settled. Rejects after `limitMs` virtual ms, or if no timer is left. */
  async run<T>(main: Promise<T>, limitMs: number): Promise<T> {
    let isDone = false
    const ended = main.finally(() => {
      isDone = true
    })
    // The caller handles the error when it awaits the result.
    ended.catch(() => undefined)
    let idle = 0
    const step = (): boolean => {
      if (isDone) return false
      if (!this.runNext()) {
        idle++
        return false
      }
      idle = 0
      if (this.#elapsedMs > limitMs)
        throw new Error(`the simulation has not ended after ${limitMs} virtual milliseconds`)
      return true
    }
    while (!isDone && idle < IDLE_TURNS_MAX) await stepsInTurn(step)
    if (isDone) return ended
    throw new Error('no timer is left, and the simulation has not ended')
  }

  /** Runs the timers that are due within `ms` milliseconds, in order, and advances the time by `ms`. */
  advance(ms: number): void {
    const endMs = this.#elapsedMs + ms
    let isLeft = true
    while (isLeft) isLeft = this.runNext(endMs)
    this.#elapsedMs = endMs
  }

  /** Runs the next timer that is due by `endMs`, and advances the time to it. Returns false if there is none. */
  runNext(endMs = Number.POSITIVE_INFINITY): boolean {
    const next = this.#take(endMs)
    if (!next) return false
    this.#elapsedMs = Math.max(this.#elapsedMs, next.dueMs)
    this.steps++
    next.fn?.()
    return true
  }

  #take(endMs: number): Due | undefined {
    for (let [first] = this.#heap; first && first.dueMs <= endMs; [first] = this.#heap) {
      this.#pop()
      if (first.fn) return first
    }
    return undefined
  }

  #push(due: Due): void {
    const heap = this.#heap
    let at = heap.length
    heap.push(due)
    while (at > 0) {
      const above = (at - 1) >> 1
      const parent = heap[above]
      if (!parent || isBefore(parent, due)) break
      heap[at] = parent
      at = above
    }
    heap[at] = due
  }

  #pop(): Due | undefined {
    const heap = this.#heap
    const [first] = heap
    const last = heap.pop()
    if (!first || !last || heap.length === 0) return first
    let at = 0
    for (;;) {
      const left = 2 * at + 1
      const [a, b] = [heap[left], heap[left + 1]]
      const below = b && a && isBefore(b, a) ? left + 1 : left
      const child = heap[below]
      if (!child || isBefore(last, child)) break
      heap[at] = child
      at = below
    }
    heap[at] = last
    return first
  }
}

const isBefore = (a: Due, b: Due): boolean => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order)

/** The clock of one process. While the process is suspended or dead, its timers do not fire. */
export class MortalClock implements Clock {
  readonly #clock: Clock
  readonly #timers = new Set<Timer>()
  readonly #rate: number
  #isDead = false
  #thawsMs = 0

  /** `rate` is the speed of this clock relative to the simulation. */
  constructor(clock: Clock, rate = 1) {
    this.#clock = clock
    this.#rate = rate
  }

  now(): number {
    return this.#clock.now()
  }

  monotonic(): number {
    return this.#clock.monotonic() * this.#rate
  }

  setTimer(ms: number, fn: () => void): Timer {
    if (this.#isDead) return { cancel: () => undefined }
    let timer: Timer
    const due = () => {
      this.#timers.delete(own)
      fn()
    }
    const own: Timer = {
      cancel: () => {
        this.#timers.delete(own)
        timer.cancel()
      },
    }
    const fire = () => {
      if (this.frozenMs === 0) return due()
      timer = this.#clock.setTimer(this.frozenMs, fire)
    }
    timer = this.#clock.setTimer(ms / this.#rate, fire)
    this.#timers.add(own)
    return own
  }

  setRepeating(ms: number, fn: () => void): Timer {
    return repeatWith(this, ms, fn)
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepWith(this, ms, signal)
  }

  /** The number of set timers. */
  get timers(): number {
    return this.#timers.size
  }

  /** Suspends all timers for `ms` milliseconds. Overdue timers fire afterwards. */
  freeze(ms: number): void {
    this.#thawsMs = this.#clock.monotonic() + ms
  }

  /** Resolves when the process is not suspended. */
  async thawed(): Promise<void> {
    if (this.frozenMs > 0) await this.sleep(0)
  }

  die(): void {
    this.#isDead = true
    for (const timer of [...this.#timers]) timer.cancel()
  }

  /** Remaining time of the suspension, in ms. */
  get frozenMs(): number {
    return Math.max(0, this.#thawsMs - this.#clock.monotonic())
  }
}
