/**
 * Keeps a RoleID from being tried with one SecretID after the other. Failures are counted in memory, on each cluster for
 * itself; only those of RoleIDs that exist are, so there are never more counts than roles had RoleIDs of late.
 */
import type { Clock } from '../../base/clock.js'
import type { LockedUsers } from '../../logical/backend.js'
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

  isLocked(roleId: string): boolean {
    const settings = this.#settings()
    const count = this.#counts.get(roleId)
    return settings !== undefined && count !== undefined && this.#stateOf(count, settings) === 'locked'
  }

  fail(roleId: string): void {
    const settings = this.#settings()
    if (!settings) return
    const count = this.#counts.get(roleId)
    const failures = count && this.#stateOf(count, settings) === 'counting' ? count.failures : 0
    if (this.#counts.size >= COUNTS_KEPT) this.#clearAway(settings)
    this.#counts.set(roleId, { failures: failures + 1, lastMs: this.#clock.now() })
  }

  /** After a success, or by an operator. */
  unlock(roleId: string): void {
    this.#counts.delete(roleId)
  }

  /** RoleIDs that cannot log in now, sorted. */
  list(): string[] {
    return [...this.#counts.keys()].filter((roleId) => this.isLocked(roleId)).sort()
  }

  #stateOf({ failures, lastMs }: Count, settings: LockoutSettings): 'locked' | 'counting' | 'over' {
    const silenceMs = this.#clock.now() - lastMs
    if (failures >= settings.threshold) return silenceMs < settings.durationMs ? 'locked' : 'over'
    return silenceMs < settings.counterResetMs ? 'counting' : 'over'
  }

  #clearAway(settings: LockoutSettings): void {
    for (const [roleId, count] of this.#counts) {
      if (this.#stateOf(count, settings) === 'over') this.#counts.delete(roleId)
    }
  }
}
