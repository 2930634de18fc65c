import type { Random } from './random.js'

/** Returns random bytes for jitter and similar purposes, without loading cryptography. Not for secrets. */
export const createLooseRandom = (): Random => ({
  bytes: (length) => Buffer.from(Array.from({ length }, () => Math.floor(Math.random() * 256))),
})
