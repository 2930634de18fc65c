import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** A collection takes some tens of milliseconds, and so waits until this much can be gained by it. */
const COLLECTED_BYTES = 32 * 1024 * 1024

/** One count for the process: the memory of the engine is one, too. */
const heap: { uncollectedBytes: number; collect: (() => void) | undefined } = {
  uncollectedBytes: 0,
  collect: undefined,
}

/**
 * To be told of every large text or buffer that nobody needs any more, with its bytes; now and then they are collected, in a
 * turn of its own. The engine counts on small objects, and keeps hundreds of megabytes of large ones for a while.
 */
export const letGo = (bytes: number): void => {
  heap.uncollectedBytes += bytes
  if (heap.uncollectedBytes < COLLECTED_BYTES) return
  heap.uncollectedBytes = 0
  setImmediate(() => {
    heap.collect ??= findCollector()
    heap.collect()
  })
}

/** The engine shows it to contexts that are made while its flag is set. */
const findCollector = (): (() => void) => {
  setFlagsFromString('--expose-gc')
  const found: () => void = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc')
  return found
}
