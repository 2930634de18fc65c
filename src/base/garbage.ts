import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** A garbage collection takes tens of milliseconds, so it runs only if it can free this many bytes. */
const COLLECTED_BYTES = 32 * 1024 * 1024

/** The minimum pause after a collection, as a multiple of the duration of the collection. */
const PAUSE_FACTOR = 4

/**
 * The growth, in percent, after which the engine collects the old generation again. By default, the old generation may
 * triple.
 */
const GROWTH_PERCENT = 40

/**
 * Makes the engine collect its old generation earlier, to save memory. This also frees the off-heap memory of collected
 * objects.
 */
export const keepHeapSmall = (): void => setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`)

/** One counter per process, because all code of the process shares the engine's memory. */
const heap: { uncollectedBytes: number; isDue: boolean; collect: (() => void) | undefined } = {
  uncollectedBytes: 0,
  isDue: false,
  collect: undefined,
}

/**
 * Records the size of a large string or buffer that is no longer used. If enough memory can be freed, triggers a
 * collection in another turn of the event loop. Without this, the engine would keep hundreds of megabytes of unused
 * large strings and buffers for a while.
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
  const resume = () => {
    heap.isDue = false
    requestGc(0)
  }
  setTimeout(resume, PAUSE_FACTOR * (performance.now() - startMs)).unref()
}

/**
 * Returns the function that collects garbage. The engine exposes it only in contexts that are created while a flag is
 * set.
 */
const findCollector = (): (() => void) => {
  setFlagsFromString('--expose-gc')
  const found: () => void = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc')
  return found
}
