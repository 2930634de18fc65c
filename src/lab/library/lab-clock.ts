import { type Clock, skewedClock, systemClock } from '../../base/clock.js'
import { parseDurationMs } from '../../base/duration.js'
import { LabError } from '../lab-error.js'

/**
 * The time that all clusters of a lab see. Timers run in real time.
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
  /** How far what the clocks show was moved. */
  readonly skewMs: number
  /** Moves what the clocks show: milliseconds, or a duration such as `31m`. */
  advance(duration: string | number): void
}

export const createLabClock = (): LabClock => {
  let skewMs = 0
  return {
    ...skewedClock(systemClock, () => skewMs),
    get skewMs() {
      return skewMs
    },
    advance(duration) {
      const ms = typeof duration === 'number' ? duration : parseDurationMs(duration)
      if (ms === undefined || !Number.isFinite(ms)) {
        throw new LabError('usage', `"${duration}" is not a duration such as 31m, nor a number of milliseconds`)
      }
      skewMs += ms
    },
  }
}
