/** Formats a time, in milliseconds since the epoch, as responses contain it: `2026-11-21T12:00:00.123Z`. */
export const formatTime = (ms: number): string => new Date(ms).toISOString()

/**
 * Formats a time like `formatTime`, but with nine digits, and earlier by `microseconds`. In Vault, the expiry of a
 * token or lease is slightly earlier than its creation time plus its TTL. Clients that subtract the two times and round
 * down depend on this.
 */
export const formatNanoTime = (ms: number, microseconds = 0): string => {
  const nanos = (((ms % 1000) + 1000) % 1000) * 1_000_000 - microseconds * 1000
  const isBefore = nanos < 0
  const text = new Date(isBefore ? ms - 1000 : ms).toISOString()
  return `${text.slice(0, -4)}${String(isBefore ? nanos + 1_000_000_000 : nanos).padStart(9, '0')}Z`
}

/** The shown expiry of a token is this many microseconds before its creation time plus its TTL. */
export const END_SHOWN_EARLIER_US = 5

/** The value that Vault shows for a time that was never set. */
export const ZERO_TIME = '0001-01-01T00:00:00Z'
