/** `412 ms`, `2.4 s`, `60 s`, `2 min 05 s`. A unit stands behind every number of a report. */
export const formatMs = (ms: number): string => {
  if (ms < 999.5) return `${Math.round(ms)} ms`
  if (ms < 119_950) return `${trimZero((ms / 1000).toFixed(1))} s`
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, '0')} s`
}

/** Seconds since the beginning, as a timeline shows them: `+2.41 s`. */
export const formatOffset = (ms: number): string => `+${(ms / 1000).toFixed(2)} s`

/** Thousands apart by a narrow space, which no language takes for a decimal mark. */
export const formatNumber = (value: number): string => {
  const [whole = '', fraction] = String(Math.round(value * 100) / 100).split('.')
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, '\u202f')
  return fraction === undefined ? grouped : `${grouped}.${fraction}`
}

const DAY = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', dateStyle: 'long', timeStyle: 'medium' })

/** `22 November 2026, 11:19:29 UTC`; a text that is no time stays as it is. */
export const formatDay = (time: string): string => {
  const ms = Date.parse(time)
  return Number.isNaN(ms) ? time : `${DAY.format(ms).replace(' at ', ', ')} UTC`
}

const trimZero = (text: string): string => text.replace(/\.0$/, '')
