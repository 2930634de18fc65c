/**
 * The stored form of a lease of a secret, and its storage keys. The record is authoritative, and the other keys are
 * indexes. The name of a lease is the ID of its namespace, a slash and the lease ID.
 */
import type { JsonObject } from '../../logical/json.js'
import { asFolder, putJson, readJson, type ReadStorage, type Transaction } from '../../logical/storage.js'
import { KEYS } from '../../storage/keys/key-families.js'
import { NEVER_MS, parseDue, printDue } from './due-sweep.js'

/** A stored lease. Times are in milliseconds since the epoch. */
interface StoredLease {
  /** The accessor of the mount that issued the secret and can revoke it. */
  readonly mountAccessor: string
  /** The storage ID of the token whose revocation revokes the lease; empty if there is none. */
  readonly owner: string
  readonly issuedMs: number
  readonly expiresMs: number
  readonly lastRenewalMs: number | null
  /** The expiry of the batch token that requested the secret, which no renewal can exceed. */
  readonly latestMs: number | null
  readonly isRenewable: boolean
  /** The time of the next attempt to revoke the secret: the expiry, or later after a failure. */
  readonly dueMs: number
  /** The number of failed attempts. */
  readonly failures: number
  /** The last error, if the lease is irrevocable. */
  readonly error: string | null
  /** The data of the secrets engine. */
  readonly internal: JsonObject
}

export interface Lease extends StoredLease {
  readonly namespaceId: string
  readonly id: string
}

export const LEASE_KEYS = {
  records: KEYS.secretLeases,
  /** One row per lease, ordered by the time of the next attempt to revoke it. */
  due: `${KEYS.leases}due/`,
  irrevocable: `${KEYS.leases}due/${printDue(NEVER_MS)}.`,
  /** One row per lease with an owner. */
  owners: `${KEYS.leases}owner/`,
  owned: (owner: string) => `${KEYS.leases}owner/${owner}/`,
} as const

const ROW = Buffer.from('1')

export const nameOf = ({ namespaceId, id }: Pick<Lease, 'namespaceId' | 'id'>): string => `${namespaceId}/${id}`

/** Returns the prefix of the records below a path. An empty path means the whole namespace. */
export const recordsBelow = (namespaceId: string, path: string): string =>
  LEASE_KEYS.records + nameOf({ namespaceId, id: asFolder(path.replace(/\/+$/, '')) })

/** Splits the name of a lease into the namespace ID and the lease ID. */
export const splitName = (name: string): Pick<Lease, 'namespaceId' | 'id'> => {
  const slash = name.indexOf('/')
  return { namespaceId: name.slice(0, slash), id: name.slice(slash + 1) }
}

/** Returns the lease of a row in the order of time; undefined for any other key. */
export const parseDueRow = (key: string): Pick<Lease, 'namespaceId' | 'id'> | undefined =>
  key.startsWith(LEASE_KEYS.due) ? splitName(parseDue(key.slice(LEASE_KEYS.due.length)).rest) : undefined

export const readLease = (reader: ReadStorage, name: string): Lease | undefined => {
  const stored = readJson<StoredLease>(reader, LEASE_KEYS.records + name)
  return stored && { ...stored, ...splitName(name) }
}

const dueKey = ({ dueMs }: Pick<StoredLease, 'dueMs'>, name: string): string =>
  `${LEASE_KEYS.due}${printDue(dueMs)}.${name}`

/** Stores a lease with its rows, or replaces the lease that the transaction sees. */
export const putLease = (tx: Transaction, lease: Lease): void => {
  const { namespaceId, id, ...stored } = lease
  const name = nameOf(lease)
  const before = readLease(tx, name)
  putJson(tx, LEASE_KEYS.records + name, stored)
  if (before && before.dueMs !== lease.dueMs) tx.delete(dueKey(before, name))
  tx.put(dueKey(lease, name), ROW)
  if (before && before.owner !== '' && before.owner !== lease.owner) tx.delete(LEASE_KEYS.owned(before.owner) + name)
  if (lease.owner !== '') tx.put(LEASE_KEYS.owned(lease.owner) + name, ROW)
}

/** Removes a lease with its rows. Does nothing if the transaction sees no such lease. */
export const removeLease = (tx: Transaction, name: string): void => {
  const before = readLease(tx, name)
  if (!before) return
  tx.delete(LEASE_KEYS.records + name)
  tx.delete(dueKey(before, name))
  if (before.owner !== '') tx.delete(LEASE_KEYS.owned(before.owner) + name)
}
