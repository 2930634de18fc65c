import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** A collection takes some tens of milliseconds, and so waits until this much can be gained by it. */
const COLLECTED_BYTES = 32 * 1024 * 1024

/** Whatever is let go: so many times as long as a collection took the process does something else before the next one. */
const REST = 4

/** By so much of what was in use the old generation grows until it is collected again; left to itself it may triple. */
const GROWTH_PERCENT = 40

/**
 * For a process whose memory somebody pays for: the engine collects its old generation sooner. Small objects are let go of by
 * that, and with them the memory outside of the heap that they stand for.
 */
export const keepHeapSmall = (): void => setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`)

/** One count for the process: the memory of the engine is one, too. */
const heap: { uncollectedBytes: number; isDue: boolean; collect: (() => void) | undefined } = {
  uncollectedBytes: 0,
  isDue: false,
  collect: undefined,
}

/**
 * To be told of every large text or buffer that nobody needs any more, with its bytes; now and then they are collected, in a
 * turn of its own. The engine counts on small objects, and keeps hundreds of megabytes of large ones for a while.
 */
export const letGo = (bytes: number): void => {
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
    letGo(0)
  }
  setTimeout(rest, REST * (performance.now() - startMs)).unref()
}

/** The engine shows it to contexts that are made while its flag is set. */
const findCollector = (): (() => void) => {
  setFlagsFromString('--expose-gc')
  const found: () => void = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc')
  return found
}
