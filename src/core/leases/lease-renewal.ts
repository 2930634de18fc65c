/** Extends the leases of secrets. */
import { lifeMs } from '../../base/duration.js'
import { messageOf } from '../../base/printable.js'
import { type ErrorCode, invalid, LogicalError } from '../../logical/errors.js'
import { type Lease, nameOf, putLease, readLease } from './lease-record.js'
import type { LeaseRevocation, LeaseRevocationOptions } from './lease-revocation.js'

interface LeaseRenewalOptions extends Pick<LeaseRevocationOptions, 'storage' | 'clock' | 'findMount'> {
  readonly revocation: LeaseRevocation
}

interface Renewal {
  readonly expiresMs: number
  readonly ttlSeconds: number
  readonly warnings: readonly string[]
}

/** Errors of the secrets engine that mean that it did not renew the secret. */
const FAILURES: ReadonlySet<ErrorCode> = new Set(['invalid-request', 'not-found', 'internal'])

const notFound = () => invalid('lease not found')

/** Extends a lease. Rejects with LogicalError 400 if the lease cannot be renewed, or is being revoked. */
export const renewLease = async (
  { storage, clock, findMount, revocation }: LeaseRenewalOptions,
  lease: Lease,
  incrementSeconds: number,
): Promise<Renewal> => {
  if (lease.expiresMs <= clock.now()) throw invalid('lease expired')
  const backend = findMount(lease.mountAccessor)?.backend
  if (!lease.isRenewable || !backend?.renewLease) throw invalid('lease is not renewable')
  const requireLease = () => {
    if (revocation.isRevoking(lease) || !readLease(storage, nameOf(lease))) throw notFound()
  }
  requireLease()
  const { ttlSeconds, warnings } = await backend.renewLease(lease, incrementSeconds).catch((error: unknown) => {
    requireLease()
    if (!(error instanceof LogicalError) || !FAILURES.has(error.code)) throw error
    throw invalid(`failed to renew entry: resp: (*logical.Response)(nil) err: ${messageOf(error)}`)
  })
  const nowMs = clock.now()
  const expiresMs = Math.min(nowMs + lifeMs(ttlSeconds), lease.latestMs ?? Number.POSITIVE_INFINITY)
  await storage.write((tx) => {
    const current = readLease(tx, nameOf(lease))
    // If the lease ended while the backend was called, the renewal must not make it valid again.
    if (!current || current.expiresMs <= nowMs) throw notFound()
    putLease(tx, { ...current, expiresMs, dueMs: expiresMs, lastRenewalMs: nowMs })
  })
  return { expiresMs, ttlSeconds: (expiresMs - nowMs) / 1000, warnings }
}
