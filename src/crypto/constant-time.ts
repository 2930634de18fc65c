import { timingSafeEqual } from 'node:crypto'

/** Compares two secrets. The duration depends only on their lengths, not on their contents. */
export const isSameSecret = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)
