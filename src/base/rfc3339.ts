/** UTC time of `ms` since the epoch as every answer shows it: `2026-11-21T12:00:00.123Z`. */
export const formatTime = (ms: number): string => new Date(ms).toISOString()

/** How the reference shows a time that was never set. */
export const ZERO_TIME = '0001-01-01T00:00:00Z'
