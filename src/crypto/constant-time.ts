import { timingSafeEqual } from 'node:crypto'

/** Compares secrets in constant time. Only a length difference is observable. */
export const isSameSecret = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)
