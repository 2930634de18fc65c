import { setImmediate } from 'node:timers/promises'
import { systemClock } from '../../src/base/clock.js'
import type { Kind } from '../../src/lab/model/kinds.js'
import type { Cluster } from './clusters.js'

export interface StatusWatch extends Repetition {
  /** Number of reads of each state, in the order of first occurrence. */
  readonly states: ReadonlyMap<string, number>
  readonly failures: readonly string[]
}

/** Reads the status of one kind continuously, to see short states and to detect missing responses. */
export const watchStatus = (cluster: Cluster, kind: Kind): StatusWatch => {
  const states = new Map<string, number>()
  const failures: string[] = []
  const repetition = repeat(async () => {
    try {
      const { state, mode } = await cluster.status(kind)
      const key = String(state ?? mode)
      states.set(key, (states.get(key) ?? 0) + 1)
    } catch (error) {
      failures.push(String(error))
    }
  })
  return Object.assign(repetition, { states, failures })
}

export interface Repetition {
  /** Number of started rounds. */
  readonly count: number
  readonly slowestMs: number
  stop(): Promise<void>
}

/** Runs `round` repeatedly, one at a time, until it is stopped. `round` must not reject. */
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
