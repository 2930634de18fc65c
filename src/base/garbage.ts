import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** A collection takes tens of milliseconds, so it runs only if it can free this many bytes. */
const COLLECTED_BYTES = 32 * 1024 * 1024

/** After a collection, the process runs for at least this many times its duration before the next one. */
const REST = 4

/** Growth of the old generation in percent before it is collected again. By default, it may triple. */
const GROWTH_PERCENT = 40

/**
 * Makes the engine collect its old generation sooner, to save memory. This frees small objects, and the off-heap memory
 * that they own.
 */
export const keepHeapSmall = (): void => setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`)

/** One counter per process, because the engine's memory is shared. */
const heap: { uncollectedBytes: number; isDue: boolean; collect: (() => void) | undefined } = {
  uncollectedBytes: 0,
  isDue: false,
  collect: undefined,
}

/**
 * Records the size of a large string or buffer that is no longer used. Occasionally triggers a collection in a separate
 * event-loop turn. The engine is tuned for small objects, and otherwise keeps hundreds of megabytes of large ones for a
 * while.
 */
export const requestGc = (bytes: number): void => {
  heap.uncollectedBytes += bytes
  if (heap.uncollectedBytes < COLLECTED_BYTES || heap.isDue) return
  heap.isDue = true
  setImmediate(collect)
}

const collect = (): void => {
  heap.uncollectedBytes = 0
  heap.collect ??= findCollector()
  const startMs = performance.now()
  heap.collect()
  const rest = () => {
    heap.isDue = false
    requestGc(0)
  }
  setTimeout(rest, REST * (performance.now() - startMs)).unref()
}

/** Returns the collector, which the engine exposes to contexts that are created while its flag is set. */
const findCollector = (): (() => void) => {
  setFlagsFromString('--expose-gc')
  const found: () => void = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc')
  return found
}
