import type { Random } from './random.js'

/** For what only has to be uneven, such as jitter, in a process that has nothing else to do with cryptography. */
export const createLooseRandom = (): Random => ({
  bytes: (length) => Buffer.from(Array.from({ length }, () => Math.floor(Math.random() * 256))),
})
