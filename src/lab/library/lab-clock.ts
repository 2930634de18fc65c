import { type Clock, skewedClock, systemClock } from '../../base/clock.js'
import { parseDurationMs } from '../../base/duration.js'
import { LabError } from '../model/lab-error.js'

/**
 * The clock of all clusters of a lab. Timers run in real time.
 *
 * @example
 * import { type LabClock, startLab } from 'understudy-lab'
 *
 * await using lab = await startLab('single')
 * const clock: LabClock = lab.clock
 * clock.advance('31m') // tokens of half an hour have expired
 * console.log(clock.skewMs) // 1860000
 */
export interface LabClock extends Clock {
  /** Current shift of the clocks, in milliseconds. */
  readonly skewMs: number
  /** Advances the clocks: by a number of milliseconds, or by a duration with a unit such as `31m`. */
  advance(duration: string | number): void
}

/**
 * Returns milliseconds, from a number of milliseconds or a duration with a unit. Throws LabError `usage` for a negative
 * duration, and for a string without a unit, which is ambiguous.
 */
export const requireMs = (duration: string | number): number => {
  if (typeof duration === 'string' && /^[+-]?\d+$/.test(duration)) throw missingUnit(duration)
  const ms = typeof duration === 'string' ? parseDurationMs(duration) : duration
  if (ms !== undefined && ms < 0)
    throw new LabError('usage', `the time of a lab cannot go back: ${duration} is negative`)
  if (ms !== undefined && Number.isFinite(ms)) return ms
  throw new LabError('usage', `"${duration}" is neither a duration such as 31m nor a number of milliseconds`)
}

export const missingUnit = (text: string): LabError =>
  new LabError('usage', `"${text}" has no unit: use ${text}ms or ${text}s`)

/** Returns the clock of a lab. `setSkew` sets its shift in milliseconds. */
export const createLabClock = (): LabClock & { setSkew(ms: number): void } => {
  let skewMs = 0
  return {
    ...skewedClock(systemClock, () => skewMs),
    get skewMs() {
      return skewMs
    },
    advance(duration) {
      skewMs += requireMs(duration)
    },
    setSkew(ms) {
      skewMs = ms
    },
  }
}
