import type { Random } from './random.js'

/** Returns randomness for jitter and similar purposes, in a process that does not otherwise load cryptography. */
export const createLooseRandom = (): Random => ({
  bytes: (length) => Buffer.from(Array.from({ length }, () => Math.floor(Math.random() * 256))),
})
