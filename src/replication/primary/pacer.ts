import type { Clock } from '../../base/clock.js'

/**
 * Milliseconds that a copy pauses per millisecond of work while clients write. If primary and secondary share two
 * processors, a value of three leaves writers half of their throughput.
 */
const REST = 3
const REST_MAX_MS = 100

/**
 * Throttles a copy in favor of writers: returns a function that pauses if there are writes, and continues at once
 * otherwise. It must be awaited between two slices. `lastIndex` returns the last index of the log, which grows with every
 * write.
 */
export const createPacer = (clock: Clock, lastIndex: () => number): (() => Promise<void>) => {
  let index = lastIndex()
  let sinceMs = clock.monotonic()
  return async () => {
    const before = index
    index = lastIndex()
    const workedMs = clock.monotonic() - sinceMs
    if (index !== before) await clock.sleep(Math.min(workedMs * REST, REST_MAX_MS))
    sinceMs = clock.monotonic()
  }
}
