import { parseDurationMs } from '../../../base/duration.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { missingUnit } from '../../../lab/library/lab-clock.js'

/**
 * Parses a duration. Returns milliseconds. Throws LabError `usage` for a number without a unit, which could be seconds
 * or milliseconds, and for less than `leastMs`.
 */
export const milliseconds = (text: string, leastMs = 1): number => {
  if (/^[1-9]\d*$/.test(text)) throw missingUnit(text)
  const ms = parseDurationMs(text)
  if (ms === undefined || ms < leastMs) throw new LabError('usage', `"${text}" is not a duration such as 80ms`)
  return ms
}

/**
 * Parses a time to add to a clock, for example `+5m` or `-30s`. Returns milliseconds. Throws LabError `usage` for any
 * other text.
 */
export const skew = (text: string): number => {
  const ms = parseDurationMs(text)
  if (ms === undefined || ms === 0 || /^[+-]?\d+$/.test(text))
    throw new LabError('usage', `"${text}" is not a time to add to a clock, such as +5m or -30s`)
  return ms
}

const UNITS: Readonly<Record<string, number>> = { b: 1, kb: 1000, mb: 1000 ** 2, kib: 1024, mib: 1024 ** 2 }

/** Parses a size such as `256kB`. Returns bytes. Throws LabError `usage` for any other text. */
export const bytes = (text: string): number => {
  const [, number, unit = 'b'] = /^(\d+)\s*([kKmM]?i?[bB])?$/.exec(text) ?? []
  const size = Number(number) * (UNITS[unit.toLowerCase()] ?? Number.NaN)
  if (!(size > 0)) throw new LabError('usage', `"${text}" is not a size such as 256kB`)
  return size
}

/** Parses a rate. Returns bytes per second. Rejects a number without a unit, because toxiproxy would read kilobytes. */
export const bytesPerSecond = (text: string): number => {
  if (/^[1-9]\d*$/.test(text)) throw new LabError('usage', `"${text}" has no unit: use ${text}B/s or ${text}kB/s`)
  return bytes(text.replace(/\/s$/, ''))
}
