/**
 * Returns the largest of these numbers, and at least `least`. Unlike `Math.max` with a spread, it accepts lists of any
 * length.
 */
export const largestOf = (numbers: readonly number[], least = Number.NEGATIVE_INFINITY): number =>
  numbers.reduce((largest, one) => Math.max(largest, one), least)

/** Returns the smallest of these numbers. */
export const smallestOf = (numbers: readonly number[]): number =>
  numbers.reduce((smallest, one) => Math.min(smallest, one), Number.POSITIVE_INFINITY)
