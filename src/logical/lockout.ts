/**
 * Locks users after failed logins, to prevent brute-force attacks. Each cluster counts its own failures, in memory.
 * Callers count failures only for existing users, which limits the number of counters.
 */
import type { Clock } from '../base/clock.js'
import type { LockedUsers, MountView } from './backend.js'
import { LogicalError } from './errors.js'
import { parseDurationMs } from '../base/duration.js'
import { parseBool } from './field-values.js'

export interface LockoutSettings {
  /** The number of consecutive failures that locks a user. */
  readonly threshold: number
  /** The duration of the lock after the last failure. */
  readonly durationMs: number
  /** The time without failures after which the counter resets. */
  readonly counterResetMs: number
}

export const DEFAULT_LOCKOUT: LockoutSettings = { threshold: 5, durationMs: 900_000, counterResetMs: 900_000 }

/**
 * Returns the effective settings; undefined if lockout is disabled. `configured` is undefined if the configuration of
 * the server disables lockout. The tuning of a mount takes precedence.
 */
export const decideLockout = (
  configured: LockoutSettings | undefined,
  tuned: MountView['userLockout'],
): LockoutSettings | undefined => {
  const isTuned = Object.keys(tuned ?? {}).length > 0
  if (parseBool(textOf(tuned?.lockout_disable)) || (!isTuned && !configured)) return undefined
  const base = configured ?? DEFAULT_LOCKOUT
  return {
    threshold: positive(Number(textOf(tuned?.lockout_threshold))) ?? base.threshold,
    durationMs: positive(parseDurationMs(textOf(tuned?.lockout_duration))) ?? base.durationMs,
    counterResetMs: positive(parseDurationMs(textOf(tuned?.lockout_counter_reset_duration))) ?? base.counterResetMs,
  }
}

const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''

const positive = (value: number | undefined): number | undefined =>
  value !== undefined && value > 0 ? value : undefined

/** If at least this many counters exist, a new failure removes the expired counters. */
const CLEANUP_MIN_COUNTERS = 1024

interface Count {
  readonly failures: number
  readonly lastMs: number
}

export class Lockout implements LockedUsers {
  readonly #clock: Clock
  /**
   * Returns the settings; undefined if lockout is disabled. Called on every use, because tuning changes the settings.
   */
  readonly #settings: () => LockoutSettings | undefined
  readonly #counts = new Map<string, Count>()

  constructor(clock: Clock, settings: () => LockoutSettings | undefined) {
    this.#clock = clock
    this.#settings = settings
  }

  isLocked(alias: string): boolean {
    const settings = this.#settings()
    const count = this.#counts.get(alias)
    return settings !== undefined && count !== undefined && this.#stateOf(count, settings) === 'locked'
  }

  /** Throws LogicalError 403 if the user is locked. Callers call this before and after they verify the secret. */
  check(alias: string): void {
    if (this.isLocked(alias)) throw new LogicalError('permission-denied', 'permission denied')
  }

  fail(alias: string): void {
    const settings = this.#settings()
    if (!settings) return
    const count = this.#counts.get(alias)
    const failures = count && this.#stateOf(count, settings) === 'counting' ? count.failures : 0
    if (this.#counts.size >= CLEANUP_MIN_COUNTERS) this.#removeExpired(settings)
    this.#counts.set(alias, { failures: failures + 1, lastMs: this.#clock.now() })
  }

  /** Unlocks a user. Called after a successful login, or for an operator. */
  unlock(alias: string): void {
    this.#counts.delete(alias)
  }

  /** Returns the locked users, sorted. */
  list(): string[] {
    return [...this.#counts.keys()].filter((alias) => this.isLocked(alias)).sort()
  }

  #stateOf({ failures, lastMs }: Count, settings: LockoutSettings): 'locked' | 'counting' | 'expired' {
    const silenceMs = this.#clock.now() - lastMs
    if (failures >= settings.threshold) return silenceMs < settings.durationMs ? 'locked' : 'expired'
    return silenceMs < settings.counterResetMs ? 'counting' : 'expired'
  }

  #removeExpired(settings: LockoutSettings): void {
    for (const [alias, count] of this.#counts) {
      if (this.#stateOf(count, settings) === 'expired') this.#counts.delete(alias)
    }
  }
}
