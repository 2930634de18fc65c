import type { Clock } from '../../base/clock.js'

/**
 * Milliseconds of pause per millisecond of work while clients write. If primary and secondary share two processors, the
 * value 3 leaves clients half of their throughput.
 */
const REST = 3
const REST_MAX_MS = 100

/**
 * Throttles a copy in favor of client writes. Returns a function that must be awaited between two slices: it pauses if
 * there were writes since its last call. `lastIndex` returns the last index of the log, which grows with every write.
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
