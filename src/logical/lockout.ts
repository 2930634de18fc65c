/**
 * Keeps a user from being tried with one secret after the other. Failures are counted in memory, on each cluster for
 * itself; whoever counts does so only for users that exist, so there are never more counts than there were users of late.
 */
import type { Clock } from '../base/clock.js'
import type { LockedUsers } from './backend.js'
import { LogicalError } from './errors.js'
import type { LockoutSettings } from './lockout-settings.js'

/** From here on a new failure clears away those that no longer count. */
const COUNTS_KEPT = 1024

interface Count {
  readonly failures: number
  readonly lastMs: number
}

export class Lockout implements LockedUsers {
  readonly #clock: Clock
  /** Undefined = off. Asked at every use, since the tuning of a mount changes it. */
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

  /** Throws 403 for one who is locked. To be asked before a secret is looked at, and again once it was found good. */
  check(alias: string): void {
    if (this.isLocked(alias)) throw new LogicalError('permission-denied', 'permission denied')
  }

  fail(alias: string): void {
    const settings = this.#settings()
    if (!settings) return
    const count = this.#counts.get(alias)
    const failures = count && this.#stateOf(count, settings) === 'counting' ? count.failures : 0
    if (this.#counts.size >= COUNTS_KEPT) this.#clearAway(settings)
    this.#counts.set(alias, { failures: failures + 1, lastMs: this.#clock.now() })
  }

  /** After a success, or by an operator. */
  unlock(alias: string): void {
    this.#counts.delete(alias)
  }

  /** Users that cannot log in now, sorted. */
  list(): string[] {
    return [...this.#counts.keys()].filter((alias) => this.isLocked(alias)).sort()
  }

  #stateOf({ failures, lastMs }: Count, settings: LockoutSettings): 'locked' | 'counting' | 'over' {
    const silenceMs = this.#clock.now() - lastMs
    if (failures >= settings.threshold) return silenceMs < settings.durationMs ? 'locked' : 'over'
    return silenceMs < settings.counterResetMs ? 'counting' : 'over'
  }

  #clearAway(settings: LockoutSettings): void {
    for (const [alias, count] of this.#counts) {
      if (this.#stateOf(count, settings) === 'over') this.#counts.delete(alias)
    }
  }
}
