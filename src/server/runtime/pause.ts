/** The longest pause. */
const MS_MAX = 60_000

/** Milliseconds to wait after the n-th failure in a row, as on a full disk, before the next attempt; 0 before the first. */
export const pauseAfter = (failures: number): number => (failures === 0 ? 0 : Math.min(250 * 2 ** failures, MS_MAX))
