/** Returns `412 ms`, `2.4 s`, `60 s` or `2 min 05 s`. Every number in a report has a unit. */
export const formatMs = (ms: number): string => {
  if (ms < 999.5) return `${Math.round(ms)} ms`
  if (ms < 119_950) return `${trimZero((ms / 1000).toFixed(1))} s`
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, '0')} s`
}

/** Returns seconds since the start for a timeline: `+2.41 s`. */
export const formatOffset = (ms: number): string => `+${(ms / 1000).toFixed(2)} s`

/** Separates thousands by a narrow space, which is not a decimal separator in any language. */
export const formatNumber = (value: number): string => {
  const [whole = '', fraction] = String(Math.round(value * 100) / 100).split('.')
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, '\u202f')
  return fraction === undefined ? grouped : `${grouped}.${fraction}`
}

const DAY = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', dateStyle: 'long', timeStyle: 'medium' })

/** Returns `22 November 2026, 11:19:29 UTC`. Text that is not a time is unchanged. */
export const formatDay = (time: string): string => {
  const ms = Date.parse(time)
  return Number.isNaN(ms) ? time : `${DAY.format(ms).replace(' at ', ', ')} UTC`
}

const trimZero = (text: string): string => text.replace(/\.0$/, '')
