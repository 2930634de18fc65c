import { type Clock, sleepWith, type Timer } from '../../src/base/clock.js'
import { nextTurn } from '../../src/base/turn.js'
import type { Chance } from './chance.js'

interface Due {
  readonly dueMs: number
  readonly order: number
  fn: (() => void) | undefined
}

const START_MS = 1_700_000_000_000
/** A timer is late by up to so much, as timers are; so seeds differ in which of two comes first. */
const LATE_MS_MAX = 1
const IDLE_TURNS_MAX = 10_000

/**
 * Time that passes when nothing is left to be done in it. What falls due runs one by one, each to its end before the next:
 * there is nothing in the process that waits for anything but this clock.
 */
export class SimulatedClock implements Clock {
  readonly #chance: Chance
  readonly #heap: Due[] = []
  #elapsedMs = 0
  #order = 0
  steps = 0

  constructor(chance: Chance) {
    this.#chance = chance
  }

  now(): number {
    return START_MS + Math.floor(this.#elapsedMs)
  }

  monotonic(): number {
    return this.#elapsedMs
  }

  setTimer(ms: number, fn: () => void): Timer {
    const due: Due = {
      dueMs: this.#elapsedMs + Math.max(ms, 0) + this.#chance.next() * LATE_MS_MAX,
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
    let timer: Timer
    const again = () => {
      timer = this.setTimer(Math.max(ms, 1), again)
      fn()
    }
    timer = this.setTimer(Math.max(ms, 1), again)
    return { cancel: () => timer.cancel() }
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepWith(this, ms, signal)
  }

  /** Lets time pass until `main` has ended. Throws when nothing is left that could end it, or when it takes too long. */
  async run<T>(main: Promise<T>, limitMs: number): Promise<T> {
    let isDone = false
    const ended = main.finally(() => {
      isDone = true
    })
    // Whoever awaits the result hears of it.
    ended.catch(() => undefined)
    for (let idle = 0; idle < IDLE_TURNS_MAX; idle++) {
      await nextTurn()
      if (isDone) return ended
      const next = this.#take()
      // Somebody may work in slices.
      if (!next) continue
      idle = 0
      if (next.dueMs > limitMs) throw new Error(`the simulation has not ended after ${limitMs} virtual milliseconds`)
      this.#elapsedMs = Math.max(this.#elapsedMs, next.dueMs)
      this.steps++
      next.fn?.()
    }
    throw new Error('nothing is left to happen, and the simulation has not ended')
  }

  #take(): Due | undefined {
    for (;;) {
      const next = this.#pop()
      if (!next || next.fn) return next
    }
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

/** The clock of one process: when that dies, nothing it has waited for ever comes. */
export class MortalClock implements Clock {
  readonly #clock: Clock
  readonly #timers = new Set<Timer>()
  #isDead = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  now(): number {
    return this.#clock.now()
  }

  monotonic(): number {
    return this.#clock.monotonic()
  }

  setTimer(ms: number, fn: () => void): Timer {
    if (this.#isDead) return { cancel: () => undefined }
    const timer = this.#clock.setTimer(ms, () => {
      this.#timers.delete(timer)
      fn()
    })
    return this.#keep(timer)
  }

  setRepeating(ms: number, fn: () => void): Timer {
    return this.#isDead ? { cancel: () => undefined } : this.#keep(this.#clock.setRepeating(ms, fn))
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepWith(this, ms, signal)
  }

  die(): void {
    this.#isDead = true
    for (const timer of this.#timers) timer.cancel()
    this.#timers.clear()
  }

  #keep(timer: Timer): Timer {
    this.#timers.add(timer)
    return {
      cancel: () => {
        this.#timers.delete(timer)
        timer.cancel()
      },
    }
  }
}
