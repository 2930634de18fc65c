/** UTC time of `ms` since the epoch as every answer shows it: `2026-11-21T12:00:00.123Z`. */
export const formatTime = (ms: number): string => new Date(ms).toISOString()

/**
 * The same with nine digits, `microseconds` before: ends of tokens and leases. The reference takes the end of a life down a
 * moment before its beginning, and clients that subtract the two and round down count on it.
 */
export const formatNanoTime = (ms: number, microseconds = 0): string => {
  const nanos = (((ms % 1000) + 1000) % 1000) * 1_000_000 - microseconds * 1000
  const isBefore = nanos < 0
  const text = new Date(isBefore ? ms - 1000 : ms).toISOString()
  return `${text.slice(0, -4)}${String(isBefore ? nanos + 1_000_000_000 : nanos).padStart(9, '0')}Z`
}

/** How much earlier than its beginning and its life together the end of a token is shown. */
export const END_SHOWN_EARLIER_US = 5

/** How the reference shows a time that was never set. */
export const ZERO_TIME = '0001-01-01T00:00:00Z'
