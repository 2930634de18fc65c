import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import { messageOf } from '../../base/printable.js'
import type { Backend, MountView } from '../../logical/backend.js'
import { type ErrorCode, LogicalError } from '../../logical/errors.js'
import type { Storage } from '../../logical/storage.js'
import { NEVER_MS } from './due-sweep.js'
import { type Lease, nameOf, parseDueRow, putLease, readLease, removeLease } from './lease-record.js'

/** After this number of failed attempts, a lease is irrevocable. */
const ATTEMPTS_MAX = 6
/** The pause after the first failed attempt. Each further failure doubles the pause. */
const RETRY_MS = 10_000

/** Errors that further attempts cannot change. */
const LASTING: ReadonlySet<ErrorCode> = new Set(['invalid-request', 'not-found', 'unsupported-path'])

/** The mount that issues secrets. */
export interface LeaseMount {
  readonly backend: Pick<Backend, 'renewLease' | 'revokeLease'>
  readonly view: Pick<MountView, 'accessor' | 'defaultLeaseTtlSeconds' | 'maxLeaseTtlSeconds'>
}

export interface LeaseRevocationOptions {
  readonly storage: Storage
  readonly clock: Clock
  readonly log: Log
  /** Returns the mount with this accessor. Throws LogicalError if its data is not here yet. */
  readonly findMount: (accessor: string) => LeaseMount | undefined
}

/** Revokes secrets and removes their leases. Retries a failed attempt, or marks the lease as irrevocable. */
export class LeaseRevocation {
  readonly #options: LeaseRevocationOptions
  /** The attempts in progress, by name. */
  readonly #attempts = new Map<string, Promise<void>>()

  constructor(options: LeaseRevocationOptions) {
    this.#options = options
  }

  isRevoking(lease: Lease): boolean {
    return this.#attempts.has(nameOf(lease))
  }

  /**
   * Revokes a secret whose lease could not be stored. If this fails, stores the lease as one that is due, so that the
   * sweep retries.
   */
  async discard(lease: Lease): Promise<void> {
    const { storage, clock, log } = this.#options
    try {
      await this.#revokeSecret(lease)
    } catch (error) {
      log.warn('a secret without a lease could not be revoked', { lease_id: lease.id, error: messageOf(error) })
      const dueMs = clock.now()
      await storage
        .write((tx) => putLease(tx, { ...lease, owner: '', expiresMs: dueMs, dueMs }))
        .catch((cause: unknown) => {
          log.error('the secret remains without a lease', { lease_id: lease.id, error: messageOf(cause) })
        })
    }
  }

  /** Revokes the secret, and then removes the lease. Rejects if the secrets engine fails. */
  revoke(lease: Lease): Promise<void> {
    const name = nameOf(lease)
    let attempt = this.#attempts.get(name)
    if (!attempt) {
      attempt = this.#revoke(lease).finally(() => this.#attempts.delete(name))
      this.#attempts.set(name, attempt)
    }
    return attempt
  }

  /**
   * Revokes leases concurrently. If forced, removes a lease even if its secret cannot be revoked. Returns a text for
   * each lease that remains.
   */
  async revokeAll(leases: readonly Lease[], isForced: boolean): Promise<string[]> {
    const { storage, log } = this.#options
    const attempt = async (lease: Lease): Promise<string[]> => {
      try {
        await this.revoke(lease)
      } catch (error) {
        if (!isForced) return [`${lease.id}: ${messageOf(error)}`]
        log.warn('a lease was removed without revoking its secret', { lease_id: lease.id, error: messageOf(error) })
        await storage.write((tx) => removeLease(tx, nameOf(lease)))
      }
      return []
    }
    return (await Promise.all(leases.map(attempt))).flat()
  }

  /** Revokes the lease of a due row. Deletes the row if the lease no longer refers to it. */
  async handleDue(key: string, timeMs: number): Promise<void> {
    const { storage } = this.#options
    const row = parseDueRow(key)
    const lease = row && readLease(storage, nameOf(row))
    if (lease?.dueMs !== timeMs) return storage.write((tx) => tx.delete(key))
    try {
      await this.revoke(lease)
    } catch (error) {
      await this.#postpone(lease, error)
    }
  }

  async #revoke(lease: Lease): Promise<void> {
    await this.#revokeSecret(lease)
    await this.#options.storage.write((tx) => removeLease(tx, nameOf(lease)))
  }

  async #revokeSecret(lease: Lease): Promise<void> {
    const backend = this.#options.findMount(lease.mountAccessor)?.backend
    if (!backend?.revokeLease) {
      throw new LogicalError('unsupported-path', 'the mount that issued the secret does not exist')
    }
    await backend.revokeLease(lease)
  }

  /** Schedules the next attempt after a failure. After the last attempt, the lease is irrevocable. */
  async #postpone(lease: Lease, error: unknown): Promise<void> {
    const { storage, clock, log } = this.#options
    const failures = lease.failures + 1
    const isLasting = error instanceof LogicalError && LASTING.has(error.code)
    const isIrrevocable = isLasting || failures >= ATTEMPTS_MAX
    const next = isIrrevocable
      ? { dueMs: NEVER_MS, error: messageOf(error) }
      : { dueMs: clock.now() + RETRY_MS * 2 ** (failures - 1) }
    await storage.write((tx) => {
      const current = readLease(tx, nameOf(lease))
      if (current?.dueMs === lease.dueMs) putLease(tx, { ...current, failures, ...next })
    })
    const fields = { lease_id: lease.id, attempt: failures, error: messageOf(error) }
    log.warn(isIrrevocable ? 'a lease is irrevocable' : 'a lease could not be revoked', fields)
  }
}
