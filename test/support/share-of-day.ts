import { inject } from 'vitest'

const DAY_MS = 86_400_000
const DAYS = 7

/**
 * Returns all items at the nightly level. At other levels, returns the next `count` items each day, or more if a week
 * would not cover all.
 */
export const shareOfDay = <T>(
  all: readonly T[],
  count: number,
  { level = inject('level'), nowMs = Date.now() } = {},
): readonly T[] => {
  if (level === 'nightly') return all
  const share = Math.min(all.length, Math.max(count, Math.ceil(all.length / DAYS)))
  const start = (Math.floor(nowMs / DAY_MS) * share) % all.length
  return [...all, ...all].slice(start, start + share)
}
