/**
 * The stored form of a token, the form that the rest of the core uses, and the storage keys. One record is
 * authoritative for a token; the other keys are indexes.
 */
import type { NamespaceRef, TokenOrigin } from '../../logical/request.js'
import { KEYS } from '../../storage/keys/key-families.js'
import { isWithinBoundCidrs } from '../../logical/bound-cidrs.js'
import type { TokenInfo } from '../../logical/token-request.js'
import { parseDue, printDue } from '../leases/due-sweep.js'

/** A stored token. Times are in milliseconds since the epoch. Durations are in whole seconds, with 0 for not set. */
export interface StoredToken {
  readonly id: string
  readonly accessor: string
  readonly namespaceId: string
  readonly policies: readonly string[]
  /** The path of the request that created the token, relative to the namespace. */
  readonly path: string
  readonly displayName: string
  readonly meta: Readonly<Record<string, string>> | null
  readonly entityId: string
  /** Storage ID of the parent; empty for an orphan. */
  readonly parent: string
  /** Remaining uses. 0 means unlimited; -1 means that the last use was consumed. */
  readonly numUses: number
  readonly createdAtMs: number
  /** The TTL at creation. */
  readonly ttlSeconds: number
  /** The TTL granted at creation or by the last renewal. */
  readonly leaseTtlSeconds: number
  readonly expiresAtMs: number | null
  readonly lastRenewalMs: number | null
  readonly explicitMaxTtlSeconds: number
  readonly periodSeconds: number
  /** The token role that created the token; empty if none. */
  readonly role: string
  readonly boundCidrs: readonly string[]
  readonly isRenewable: boolean
  /**
   * Time at which the sweep removes the token: at its expiry, or soon after its last use. Null if the token does not
   * expire.
   */
  readonly sweepAtMs: number | null
  /** True while the children of the token become orphans. The token then accepts no new children. */
  readonly isClosing?: boolean
  /** The token's issuer, for renewal. Records of earlier versions contain more of a login. */
  readonly login: TokenOrigin | null
  /** The accessor of the mount that issued the token; empty if no auth method issued it. */
  readonly mountAccessor: string
  /**
   * True if the token has index rows for its accessor and path, as tokens with custom IDs and tokens of earlier
   * versions have.
   */
  readonly isIndexed: boolean
}

/** A live token. Immutable. The storage ID is empty for a batch token. */
export interface TokenEntry extends TokenInfo {
  readonly parent: string
  readonly leaseTtlSeconds: number
  readonly origin: TokenOrigin | undefined
  readonly mountAccessor: string
}

export const isRootPolicy = (policies: readonly string[]): boolean => policies.includes('root')

export const hasEnded = (record: Pick<StoredToken, 'expiresAtMs'>, nowMs: number): boolean =>
  record.expiresAtMs !== null && record.expiresAtMs <= nowMs

export const toEntry = (record: StoredToken, namespace: NamespaceRef, storageId: string): TokenEntry => ({
  id: record.id,
  storageId,
  accessor: record.accessor,
  policies: record.policies,
  displayName: record.displayName,
  entityId: record.entityId,
  type: 'service',
  isRoot: isRootPolicy(record.policies),
  namespace,
  parent: record.parent,
  path: record.path,
  meta: record.meta,
  numUses: record.numUses,
  createdAtMs: record.createdAtMs,
  ttlSeconds: record.ttlSeconds,
  leaseTtlSeconds: record.leaseTtlSeconds,
  expiresAtMs: record.expiresAtMs ?? undefined,
  lastRenewalMs: record.lastRenewalMs ?? undefined,
  explicitMaxTtlSeconds: record.explicitMaxTtlSeconds,
  periodSeconds: record.periodSeconds,
  role: record.role,
  boundCidrs: record.boundCidrs,
  isOrphan: record.parent === '',
  isRenewable: record.isRenewable,
  origin: record.login ?? undefined,
  mountAccessor: record.mountAccessor,
})

/** Returns `<creation path>/<storage id>`. An empty last segment, from a list path, is removed. */
export const leaseIdOf = ({ path }: Pick<StoredToken, 'path'>, storageId: string): string =>
  `${withoutSlashes(path)}/${storageId}`

const withoutSlashes = (path: string): string => (path.endsWith('/') ? path.replace(/\/+$/, '') : path)

export const TOKEN_KEYS = {
  salt: `${KEYS.tokens}salt`,
  ids: `${KEYS.tokens}id/`,
  id: (storageId: string) => `${KEYS.tokens}id/${storageId}`,
  /** The rows of indexed tokens by accessor. */
  accessors: (namespaceId: string) => `${KEYS.tokens}accessor/${namespaceId}/`,
  children: (parent: string) => `${KEYS.tokens}parent/${parent}/`,
  /** The rows of indexed tokens by creation path. */
  /** One row per indexed token, by namespace and creation path. */
  indexed: `${KEYS.leases}id/`,
  leases: (namespaceId: string) => `${KEYS.leases}id/${namespaceId}/`,
  /** One row per token with an expiry, ordered by time. */
  times: `${KEYS.leases}time/`,
  indexedTime: (ms: number, storageId: string) => `${KEYS.leases}time/${printDue(ms)}.${storageId}`,
  cubbyhole: (storageId: string) => `${KEYS.cubbyholes}${storageId}/`,
} as const

type Named = Pick<StoredToken, 'path' | 'namespaceId' | 'isIndexed'>

/**
 * Returns the key of the row with the expiry of a token. The key also contains the creation path, except for an indexed
 * token, which has a separate row with the path.
 */
export const timeKey = (ms: number, storageId: string, { isIndexed, namespaceId, path }: Named): string => {
  const key = TOKEN_KEYS.indexedTime(ms, storageId)
  return isIndexed ? key : `${key}/${namespaceId}/${withoutSlashes(path)}`
}

/** Parses a key that `timeKey` has created. `made` is undefined for an indexed token. */
export const parseTimeKey = (
  key: string,
): { timeMs: number; storageId: string; made?: { readonly namespaceId: string; readonly path: string } } => {
  const { timeMs, rest } = parseDue(key.slice(TOKEN_KEYS.times.length))
  const idEnd = rest.indexOf('/')
  if (idEnd < 0) return { timeMs, storageId: rest }
  const namespaceEnd = rest.indexOf('/', idEnd + 1)
  const made = { namespaceId: rest.slice(idEnd + 1, namespaceEnd), path: rest.slice(namespaceEnd + 1) }
  return { timeMs, storageId: rest.slice(0, idEnd), made }
}

/**
 * Returns whether a token may be used from an address. A root token without expiry is valid everywhere, which prevents
 * a lockout.
 */
export const isAddressAllowed = (
  { boundCidrs, isRoot, expiresAtMs }: Pick<TokenEntry, 'boundCidrs' | 'isRoot' | 'expiresAtMs'>,
  remoteAddress: string,
): boolean => (isRoot && expiresAtMs === undefined) || isWithinBoundCidrs(boundCidrs, remoteAddress)
