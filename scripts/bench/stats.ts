/** Returns the value below which `share` of the values lie, or NaN without values. */
export const quantile = (values: readonly number[] | Float64Array, share: number): number => {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/**
 * Divides the value of each round by the yardstick of that round, because the speed of the machine varies between
 * rounds.
 */
export const ratiosOf = (values: readonly number[], beside: readonly number[]): number[] =>
  values.map((value, round) => value / (beside[round] ?? Number.NaN))

/** Returns the items, in reverse in odd rounds, because the speed of the machine changes during a round. */
export const alternating = <T>(items: readonly T[], round: number): readonly T[] =>
  round % 2 === 1 ? items.toReversed() : items
