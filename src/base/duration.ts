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
 * Milliseconds of a Go duration (`90s`, `1h30m`, `1.5h`), of whole days (`2d`) or of a bare number of seconds (`3600`).
 * Undefined when `text` is none of these. Negative durations keep their sign.
 */
export const parseDurationMs = (text: string): number | undefined => {
  if (text.length > LIMITS.scalarCharactersMax) return undefined
  const bare = /^[+-]?\d+$/.exec(text)
  if (bare) return Number(text) * 1000
  const days = /^([+-]?\d+)d$/.exec(text)
  if (days) return Number(days[1]) * 86_400_000
  const whole = /^([+-]?)((?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+$/.exec(text)
  if (!whole) return undefined
  let ms = 0
  for (const [, count, unit] of text.matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)/g)) {
    ms += Number(count) * (UNIT_MS[unit ?? ''] ?? 0)
  }
  return whole[1] === '-' ? -ms : ms
}

/** Go's spelling of whole seconds: `768h0m0s`, `1m30s`, `0s`. */
export const formatGoDuration = (seconds: number): string => {
  const sign = seconds < 0 ? '-' : ''
  const all = Math.abs(Math.trunc(seconds))
  const h = Math.floor(all / 3600)
  const m = Math.floor((all % 3600) / 60)
  const s = all % 60
  if (h > 0) return `${sign}${h}h${m}m${s}s`
  return m > 0 ? `${sign}${m}m${s}s` : `${sign}${s}s`
}

/** The short spelling used in warnings: `1h`, `768h`, `1h30m`, `90s` as `1m30s`. */
export const formatShortDuration = (seconds: number): string => {
  const full = formatGoDuration(seconds)
  return full === '0s' ? full : full.replace(/(?<=[hm])0s$/, '').replace(/(?<=h)0m$/, '')
}
