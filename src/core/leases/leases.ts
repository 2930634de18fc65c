import type { Clock } from '../../base/clock.js'
import { lifeMs } from '../../base/duration.js'
import { base62 } from '../../base/id.js'
import type { Log } from '../../base/log.js'
import type { Random } from '../../base/random.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { type LeaseGrant, type NamespaceRef, ROOT_NAMESPACE } from '../../logical/request.js'
import { pagesOf, type ReadStorage, type Storage } from '../../logical/storage.js'
import { DueSweep } from './due-sweep.js'
import { renewLease } from './lease-renewal.js'
import { type Lease, LEASE_KEYS, nameOf, putLease, readLease, recordsBelow, splitName } from './lease-record.js'
import { type LeaseMount, LeaseRevocation } from './lease-revocation.js'

/** The number of leases that one request revokes concurrently. */
const CHUNK = 64

/** The token that requests a secret. */
export interface LeaseOwner {
  /** The storage ID of the token whose revocation revokes the lease; empty if there is none. */
  readonly id: string
  /** The latest expiry of the lease, in milliseconds since the epoch. */
  readonly latestMs?: number | undefined
  /** Throws LogicalError if the transaction sees that the token accepts no lease. */
  requireLive(tx: ReadStorage): void
}

interface LeaseStoreOptions {
  /** The whole barrier; only `sys/leased/` and `sys/expire/` are used. */
  readonly storage: Storage
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** Returns the mount with this accessor. Throws LogicalError if its data is not here yet. */
  readonly findMount: (accessor: string) => LeaseMount | undefined
  /** Returns true while this cluster must not revoke expired leases, since a newer primary may have renewed them. */
  readonly isPaused: () => boolean
}

/**
 * The leases of secrets of this cluster. The lease of a token has no record here: the token itself is the lease. A
 * lease is removed after its secrets engine has revoked the secret. Writes are durable when the promise resolves.
 */
export class LeaseStore {
  readonly #options: LeaseStoreOptions
  readonly #sweep: DueSweep
  readonly #revocation: LeaseRevocation
  /** The names below which no lease can be created. */
  readonly #closed = new Set<string>()
  /** False if no token owns a lease. Undefined if unknown. */
  #hasOwners: boolean | undefined

  constructor(options: LeaseStoreOptions) {
    const { storage, clock, log, isPaused } = options
    this.#options = options
    const revocation = new LeaseRevocation(options)
    this.#revocation = revocation
    this.#sweep = new DueSweep({
      storage,
      prefix: LEASE_KEYS.due,
      handle: (key, timeMs) => revocation.handleDue(key, timeMs),
      isPaused,
      clock,
      log,
      failure: 'expired leases could not be revoked',
    })
  }

  /**
   * Stores the lease of a new secret. If this is not possible, revokes the secret and rejects. Returns the lease and
   * its TTL in seconds.
   */
  async issue(
    { path, namespace }: { readonly path: string; readonly namespace: NamespaceRef },
    mount: LeaseMount,
    grant: LeaseGrant,
    owner: LeaseOwner,
  ): Promise<{ readonly lease: Lease; readonly ttlSeconds: number }> {
    const { clock, random, storage } = this.#options
    const nowMs = clock.now()
    const { accessor: mountAccessor, defaultLeaseTtlSeconds, maxLeaseTtlSeconds } = mount.view
    const seconds = Math.min(grant.ttlSeconds || defaultLeaseTtlSeconds, maxLeaseTtlSeconds)
    const expiresMs = Math.min(nowMs + lifeMs(seconds), owner.latestMs ?? Number.POSITIVE_INFINITY)
    const lease: Lease = {
      namespaceId: namespace.id,
      id: `${path}/${base62(random, 24)}${namespace.id === ROOT_NAMESPACE.id ? '' : `.${namespace.id}`}`,
      mountAccessor,
      owner: owner.id,
      issuedMs: nowMs,
      expiresMs,
      lastRenewalMs: null,
      latestMs: owner.latestMs ?? null,
      isRenewable: grant.isRenewable,
      dueMs: expiresMs,
      failures: 0,
      error: null,
      internal: grant.internal,
    }
    try {
      await storage.write((tx) => {
        this.#requireOpen(nameOf(lease))
        owner.requireLive(tx)
        putLease(tx, lease)
        if (owner.id !== '') this.#hasOwners = true
      })
    } catch (error) {
      await this.#revocation.discard(lease)
      this.#sweep.noteDue(nowMs)
      throw error
    }
    this.#sweep.noteDue(expiresMs)
    return { lease, ttlSeconds: (expiresMs - nowMs) / 1000 }
  }

  find(namespaceId: string, id: string): Lease | undefined {
    return readLease(this.#options.storage, nameOf({ namespaceId, id }))
  }

  /** Returns the names directly below a path. Folders have a trailing slash. */
  list(namespaceId: string, path: string): Promise<string[]> {
    return this.#options.storage.list(recordsBelow(namespaceId, path))
  }

  /** Returns the leases that could not be revoked, in no particular order. */
  async irrevocable(): Promise<Lease[]> {
    const { storage } = this.#options
    const keys = await storage.keys(LEASE_KEYS.irrevocable)
    return keys.flatMap((key) => readLease(storage, key.slice(LEASE_KEYS.irrevocable.length)) ?? [])
  }

  /** Extends a lease. Rejects with LogicalError 400 if the lease cannot be renewed. Returns the TTL in seconds. */
  async renew(
    lease: Lease,
    incrementSeconds: number,
  ): Promise<{ readonly ttlSeconds: number; readonly warnings: readonly string[] }> {
    const options = { ...this.#options, revocation: this.#revocation }
    const { expiresMs, ...renewal } = await renewLease(options, lease, incrementSeconds)
    this.#sweep.noteDue(expiresMs)
    return renewal
  }

  /** Revokes the secret, and then removes the lease. Rejects with LogicalError 400 if the secrets engine fails. */
  async revoke(lease: Lease): Promise<void> {
    const [failure] = await this.#revocation.revokeAll([lease], false)
    if (failure !== undefined) throw invalid(`failed to revoke the lease ${failure}`)
  }

  /** Makes leases expire now. The sweep revokes them in the background. */
  async end(leases: readonly Pick<Lease, 'namespaceId' | 'id'>[]): Promise<void> {
    const nowMs = this.#options.clock.now()
    await this.#options.storage.write((tx) => {
      for (const lease of leases) {
        const current = readLease(tx, nameOf(lease))
        if (!current) continue
        const expiresMs = Math.min(current.expiresMs, nowMs)
        const due = current.error === null ? { expiresMs, dueMs: Math.min(current.dueMs, nowMs), failures: 0 } : {}
        putLease(tx, { ...current, ...due, owner: '' })
      }
    })
    this.#sweep.noteDue(nowMs)
  }

  /**
   * Revokes all leases below a path. Rejects with LogicalError 400 if some remain. If forced, removes these without
   * revoking their secrets.
   */
  async revokeBelow(namespaceId: string, path: string, { isForced = false } = {}): Promise<void> {
    const failures: string[] = []
    for await (const leases of this.leasesBelow(namespaceId, path)) {
      failures.push(...(await this.#revocation.revokeAll(leases, isForced)))
    }
    if (failures.length > 0) throw invalid(`failed to revoke ${failures.length} leases below "${path}": ${failures[0]}`)
  }

  /** Yields the leases below a path, in chunks. An empty path means the whole namespace. */
  leasesBelow(namespaceId: string, path: string): AsyncGenerator<readonly Lease[]> {
    return this.#read(recordsBelow(namespaceId, path), CHUNK)
  }

  /** Yields all leases, in chunks. */
  all(): AsyncGenerator<readonly Lease[]> {
    return this.#read(LEASE_KEYS.records)
  }

  async *#read(prefix: string, limit?: number): AsyncGenerator<readonly Lease[]> {
    const { storage } = this.#options
    for await (const keys of pagesOf(storage, prefix, limit)) {
      yield keys.flatMap((key) => readLease(storage, key.slice(LEASE_KEYS.records.length)) ?? [])
    }
  }

  /**
   * Revokes all leases below the path of a mount, and then runs `change`, which moves or removes the mount. Meanwhile,
   * no lease can be created there.
   */
  async whileClosed<T>(namespaceId: string, path: string, change: () => Promise<T>): Promise<T> {
    const closed = nameOf({ namespaceId, id: path })
    this.#closed.add(closed)
    try {
      await this.revokeBelow(namespaceId, path)
      return await change()
    } finally {
      this.#closed.delete(closed)
    }
  }

  /** Makes the leases of these tokens expire now. Called before and after the tokens are removed. */
  async endOwned(owners: readonly string[]): Promise<void> {
    const { storage } = this.#options
    this.#hasOwners ??= (await storage.keys(LEASE_KEYS.owners, { limit: 1 })).length > 0
    if (!this.#hasOwners) return
    for (const owner of owners) {
      const prefix = LEASE_KEYS.owned(owner)
      for await (const keys of pagesOf(storage, prefix)) {
        await this.end(keys.map((key) => splitName(key.slice(prefix.length))))
      }
    }
  }

  /** Revokes expired leases in the background until the signal is aborted. */
  start(signal: AbortSignal): void {
    this.#sweep.start(signal)
  }

  /** Revokes the leases that have expired by now. */
  sweep(): Promise<void> {
    return this.#sweep.run()
  }

  /** Resolves when no attempt of the sweep is in progress. */
  stop(): Promise<void> {
    return this.#sweep.settled()
  }

  #requireOpen(name: string): void {
    for (const closed of this.#closed) {
      if (name.startsWith(closed)) throw new LogicalError('unavailable', 'the mount is being moved or removed')
    }
  }
}
