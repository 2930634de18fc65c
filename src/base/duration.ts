import { LIMITS } from './limits.js'

const UNIT_MS: Record<string, number> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
}

/**
 * Parses a Go duration (`90s`, `1h30m`, `1.5h`), whole days (`2d`) or a number of seconds (`3600`), and returns
 * milliseconds. A negative duration returns a negative number. Returns undefined for any other text.
 */
export const parseDurationMs = (text: string): number | undefined => {
  if (text.length > LIMITS.scalarCharactersMax) return undefined
  const bare = /^[+-]?\d+$/.exec(text)
  if (bare) return Number(text) * 1000
  const days = /^([+-]?\d+)d$/.exec(text)
  if (days) return Number(days[1]) * 86_400_000
  const whole = /^([+-]?)((?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|\u00b5s|ms|s|m|h))+$/.exec(text)
  if (!whole) return undefined
  let ms = 0
  for (const [, count, unit] of text.matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|\u00b5s|ms|s|m|h)/g)) {
    ms += Number(count) * (UNIT_MS[unit ?? ''] ?? 0)
  }
  return whole[1] === '-' ? -ms : ms
}

/** Returns the whole seconds of a duration, as responses contain them. */
export const wholeSeconds = (seconds: number): number => Math.trunc(seconds) + 0

/** Converts a lifetime in seconds to whole milliseconds: at least 1 for a positive lifetime, otherwise 0. */
export const lifeMs = (seconds: number): number => (seconds > 0 ? Math.max(1, Math.round(seconds * 1000)) : 0)

/** Formats seconds like Go, for example `768h0m0s`, `1m30s`, `1.5s`, `500ms` or `0s`. */
export const formatGoDuration = (seconds: number): string => {
  const sign = seconds < 0 ? '-' : ''
  const all = Math.round(Math.abs(seconds) * 1e9) / 1e9
  const unit = all === 0 || all >= 1 ? undefined : SMALL_UNITS.find(([size]) => all >= size)
  if (unit) return `${sign}${Math.round((all / unit[0]) * 1e6) / 1e6}${unit[1]}`
  const h = Math.floor(all / 3600)
  const m = Math.floor((all % 3600) / 60)
  const s = Math.round((all % 60) * 1e9) / 1e9
  if (h > 0) return `${sign}${h}h${m}m${s}s`
  return m > 0 ? `${sign}${m}m${s}s` : `${sign}${s}s`
}

const SMALL_UNITS = [
  [1e-3, 'ms'],
  [1e-6, 'µs'],
  [1e-9, 'ns'],
] as const

/** Formats seconds in the short form of warnings, for example `1h`, `1h30m` or `1m30s`. */
export const formatShortDuration = (seconds: number): string => {
  const full = formatGoDuration(seconds)
  return full === '0s' ? full : full.replace(/(?<=[hm])0s$/, '').replace(/(?<=h)0m$/, '')
}
