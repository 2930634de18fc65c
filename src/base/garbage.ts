import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** What is worth a collection: it takes some tens of milliseconds. */
const COLLECTED_BYTES = 32 * 1024 * 1024

let uncollected = 0
let collect: (() => void) | undefined

/**
 * To be told of every large text or buffer that nobody needs any more, with its bytes; now and then they are collected, in a
 * turn of its own. The engine counts on small objects, and keeps hundreds of megabytes of large ones for a while.
 */
export const letGo = (bytes: number): void => {
  uncollected += bytes
  if (uncollected < COLLECTED_BYTES) return
  uncollected = 0
  setImmediate(() => {
    collect ??= findCollector()
    collect()
  })
}

/** The engine shows it to contexts that are made while its flag is set. */
const findCollector = (): (() => void) => {
  setFlagsFromString('--expose-gc')
  const found: () => void = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc')
  return found
}
