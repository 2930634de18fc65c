import { setImmediate } from 'node:timers/promises'
import { systemClock } from '../../src/base/clock.js'

export interface Repetition {
  /** Rounds that have begun. */
  readonly count: number
  readonly slowestMs: number
  stop(): Promise<void>
}

/** Does the same over and over, one round at a time, until it is stopped. `round` does not reject. */
export const repeat = (round: (n: number) => Promise<void>): Repetition => {
  let count = 0
  let slowestMs = 0
  let isStopping = false
  const run = async () => {
    while (!isStopping) {
      const startedMs = systemClock.monotonic()
      await round(count++)
      slowestMs = Math.max(slowestMs, systemClock.monotonic() - startedMs)
      await setImmediate()
    }
  }
  const running = run()
  return {
    get count() {
      return count
    },
    get slowestMs() {
      return slowestMs
    },
    async stop() {
      isStopping = true
      await running
    },
  }
}
