/**
 * The number of failures that locks a user, and the duration of the lock: the server's settings, overridden by the
 * tuning of the mount.
 */
import { parseDurationMs } from '../base/duration.js'
import type { MountView } from './backend.js'
import { parseBool } from './field-values.js'

export interface LockoutSettings {
  /** The number of consecutive failures that locks a user. */
  readonly threshold: number
  /** Duration of the lock after the last failure. */
  readonly durationMs: number
  /** Time without failures after which the counter resets. */
  readonly counterResetMs: number
}

export const DEFAULT_LOCKOUT: LockoutSettings = { threshold: 5, durationMs: 900_000, counterResetMs: 900_000 }

/**
 * Returns the effective settings; undefined means off. `configured` is undefined if the server has lockout disabled; a mount
 * can enable it for itself.
 */
export const decideLockout = (
  configured: LockoutSettings | undefined,
  tuned: MountView['userLockout'],
): LockoutSettings | undefined => {
  const isDisabled = parseBool(textOf(tuned?.lockout_disable))
  if (tuned?.lockout_disable === undefined ? !configured : isDisabled) return undefined
  const base = configured ?? DEFAULT_LOCKOUT
  return {
    threshold: positive(Number(textOf(tuned?.lockout_threshold))) ?? base.threshold,
    durationMs: positive(parseDurationMs(textOf(tuned?.lockout_duration))) ?? base.durationMs,
    counterResetMs: positive(parseDurationMs(textOf(tuned?.lockout_counter_reset))) ?? base.counterResetMs,
  }
}

const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''

const positive = (value: number | undefined): number | undefined =>
  value !== undefined && value > 0 ? value : undefined
