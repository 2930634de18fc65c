import { timingSafeEqual } from 'node:crypto'

/** Compares secrets in a time that tells nothing but whether their lengths differ. */
export const isSameSecret = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)
