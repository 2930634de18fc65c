import { LogicalError } from '../../logical/errors.js'
import type { NamespaceRef, Request } from '../../logical/request.js'
import type { Storage } from '../../logical/storage.js'
import type { Route, Router } from '../mounts/router.js'
import type { NamespaceStore } from '../namespaces/namespaces.js'
import { allLeases, type LeaseEntry, parseLease } from '../tokens/token-leases.js'
import type { TokenStore } from '../tokens/tokens.js'
import type { QuotaIndex } from './quota-index.js'
import type { LeaseQuota } from './quota-record.js'
import type { Quotas } from './quotas.js'

interface LeaseQuotasOptions {
  readonly quotas: Quotas
  /** The whole barrier; only the rows of leases are read. */
  readonly storage: Storage
  readonly tokens: Pick<TokenStore, 'findStored'>
  readonly namespaces: Pick<NamespaceStore, 'findById'>
  readonly router: Pick<Router, 'find'>
}

/** The leases that count against a quota. */
interface Tally {
  /** An upper limit of the number of stored leases. Exact after a scan until the next renewal or revocation. */
  stored: number
  /** Requests that may still store a lease. */
  pending: number
  /** Pending requests whose lease is already in `stored`. */
  settled: number
  /** The value of `#removals` at the last scan; undefined if the next request must scan. */
  scannedAt: number | undefined
  scan: Promise<void> | undefined
}

/**
 * Applies the lease count quotas to logins and to requests that create tokens or leased secrets. The listener of stored
 * keys adds new leases to the count of their quota, but subtracts none, so the count is an upper limit. At the maximum,
 * the leases are counted again if any lease was removed in the meantime.
 */
export class LeaseQuotas {
  readonly #options: LeaseQuotasOptions
  #tallies = new Map<LeaseQuota, Tally>()
  /**
   * The version of the quotas to which the tallies belong: a new quota takes over the leases of a less specific one.
   */
  #version = -1
  #removals = 0

  constructor(options: LeaseQuotasOptions) {
    this.#options = options
  }

  /**
   * Runs `issue`, which may create a lease. Rejects with LogicalError 429 if the leases of the quota have reached their
   * maximum, unless the caller has a root token.
   */
  async guard<T>(request: Request, route: Route, issue: () => Promise<T>): Promise<T> {
    const quota = this.#index.isEmpty
      ? undefined
      : this.#quotaOf(request.namespace, request.path, () => roleOf(request, route))
    if (!quota) return issue()
    const tally = this.#tallyOf(quota)
    if (!request.token?.isRoot) {
      const isDue = tally.scannedAt === undefined || (isFull(quota, tally) && tally.scannedAt !== this.#removals)
      if (isDue) await this.#scan(quota, tally)
      // No other request may run between this check and the count of this request.
      if (isFull(quota, tally)) throw exceeded(request)
    }
    tally.pending++
    try {
      return await issue()
    } finally {
      if (tally.settled > 0) tally.settled--
      else tally.pending--
    }
  }

  /** Returns the number of leases that count against a quota. */
  async count(quota: LeaseQuota): Promise<number> {
    const tally = this.#tallyOf(quota)
    await this.#scan(quota, tally)
    return tally.stored
  }

  /** Follows a changed key of the token store. */
  note(key: string): void {
    if (this.#tallies.size === 0) return
    const lease = parseLease(key)
    if (!lease) return
    if (!this.#options.storage.has(key)) {
      this.#removals++
      return
    }
    const quota = this.#quotaOfLease(lease)
    const tally = quota && this.#tallies.get(quota)
    if (!tally) return
    tally.stored++
    if (tally.pending === 0) return
    tally.pending--
    tally.settled++
  }

  get #index(): QuotaIndex<LeaseQuota> {
    return this.#options.quotas.indexOf('lease-count')
  }

  #tallyOf(quota: LeaseQuota): Tally {
    const { version } = this.#options.quotas
    if (version !== this.#version) {
      this.#tallies = new Map()
      this.#version = version
    }
    let tally = this.#tallies.get(quota)
    if (!tally) {
      tally = { stored: 0, pending: 0, settled: 0, scannedAt: undefined, scan: undefined }
      this.#tallies.set(quota, tally)
    }
    return tally
  }

  #scan(quota: LeaseQuota, tally: Tally): Promise<void> {
    tally.scan ??= this.#countInto(quota, tally).finally(() => {
      tally.scan = undefined
    })
    return tally.scan
  }

  async #countInto(quota: LeaseQuota, tally: Tally): Promise<void> {
    const removals = this.#removals
    const before = tally.stored
    let found = 0
    for await (const leases of allLeases(this.#options.storage)) {
      for (const lease of leases) if (this.#quotaOfLease(lease) === quota) found++
    }
    // A lease that was stored during the scan may count twice, so the next request scans again.
    const added = tally.stored - before
    tally.stored = found + added
    tally.scannedAt = added > 0 ? undefined : removals
  }

  #quotaOfLease({ namespaceId, path, storageId }: LeaseEntry): LeaseQuota | undefined {
    const { namespaces, tokens } = this.#options
    const namespace = namespaces.findById(namespaceId)
    const roleOfLease = (route: Route | undefined) => {
      const key = route?.mount.backend.roles?.metadataKey
      return key === undefined ? undefined : tokens.findStored(storageId)?.meta?.[key]
    }
    return namespace && this.#quotaOf(namespace, path, roleOfLease)
  }

  #quotaOf(
    namespace: NamespaceRef,
    path: string,
    roleIn: (route: Route | undefined) => string | undefined,
  ): LeaseQuota | undefined {
    const route = this.#options.router.find(namespace, path)
    const role = () => roleIn(route)
    return this.#index.find({ namespace, mountUuid: route?.mount.entry.uuid ?? '', path: route?.path ?? '', role })
  }
}

const isFull = ({ maxLeases }: LeaseQuota, { stored, pending }: Tally): boolean => stored + pending >= maxLeases

const exceeded = ({ path }: Request): LogicalError =>
  new LogicalError('too-many-requests', `request path ${JSON.stringify(path)}: lease count quota exceeded`)

const roleOf = (request: Request, { mount, path }: Route): string | undefined =>
  mount.backend.roles?.find(request, path)
