/** How many failures lock a user and for how long: the server's settings, over which the tuning of the mount wins. */
import { parseDurationMs } from '../base/duration.js'
import type { MountView } from './backend.js'
import { parseBool } from './field-values.js'

export interface LockoutSettings {
  /** Failures in a row that lock. */
  readonly threshold: number
  /** How long after the last failure. */
  readonly durationMs: number
  /** Silence after which failures no longer count. */
  readonly counterResetMs: number
}

export const DEFAULT_LOCKOUT: LockoutSettings = { threshold: 5, durationMs: 900_000, counterResetMs: 900_000 }

/** `configured` undefined = the server has it off; a mount can turn it on for itself. Undefined = off. */
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
