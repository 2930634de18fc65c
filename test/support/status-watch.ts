import { setImmediate } from 'node:timers/promises'
import { systemClock } from '../../src/base/clock.js'
import type { Kind } from '../../src/lab/kinds.js'
import type { Cluster } from './cluster.js'

export interface StatusWatch {
  /** How often each state was seen, in the order of first sight. */
  readonly states: ReadonlyMap<string, number>
  readonly failures: readonly string[]
  readonly count: number
  readonly slowestMs: number
  stop(): Promise<void>
}

/** Reads the status of one kind over and over, so that short states are seen and a missing answer is noticed. */
export const watchStatus = (cluster: Cluster, kind: Kind): StatusWatch => {
  const states = new Map<string, number>()
  const failures: string[] = []
  const seen = { count: 0, slowestMs: 0 }
  let isStopping = false
  const run = async () => {
    while (!isStopping) {
      const startedMs = systemClock.monotonic()
      try {
        const { state, mode } = await cluster.status(kind)
        const key = String(state ?? mode)
        states.set(key, (states.get(key) ?? 0) + 1)
      } catch (error) {
        failures.push(String(error))
      }
      seen.count++
      seen.slowestMs = Math.max(seen.slowestMs, systemClock.monotonic() - startedMs)
      await setImmediate()
    }
  }
  const running = run()
  return {
    states,
    failures,
    get count() {
      return seen.count
    },
    get slowestMs() {
      return seen.slowestMs
    },
    async stop() {
      isStopping = true
      await running
    },
  }
}
