/** Formats a duration with its unit: `412 ms`, `2.4 s`, `60 s` or `2 min 05 s`. */
export const formatMs = (ms: number): string => {
  if (ms < 999.5) return `${Math.round(ms)} ms`
  if (ms < 119_950) return `${trimZero((ms / 1000).toFixed(1))} s`
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, '0')} s`
}

/** Formats the time since the start of a drill in seconds: `+2.41 s`. */
export const formatOffset = (ms: number): string => `+${(ms / 1000).toFixed(2)} s`

/** Separates thousands by a narrow space, which is not a decimal separator in any language. */
export const formatNumber = (value: number): string => {
  const [whole = '', fraction] = String(Math.round(value * 100) / 100).split('.')
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, '\u202f')
  return fraction === undefined ? grouped : `${grouped}.${fraction}`
}

/** `Intl` would load its data for 11 ms at the start of every command. */
const MONTHS = [
  ...['January', 'February', 'March', 'April', 'May', 'June', 'July'],
  ...['August', 'September', 'October', 'November', 'December'],
]

/** Formats an ISO 8601 time as `22 November 2026, 11:19:29 UTC`. Returns any other text unchanged. */
export const formatTime = (time: string): string => {
  const date = new Date(time)
  if (Number.isNaN(date.getTime())) return time
  const day = `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}`
  return `${day}, ${date.toISOString().slice(11, 19)} UTC`
}

const trimZero = (text: string): string => text.replace(/\.0$/, '')
