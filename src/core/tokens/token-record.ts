/**
 * A token as it is kept, as the rest of the core sees it, and where its keys lie. One record is the only truth about a
 * token; the other keys lead to it.
 */
import type { NamespaceRef, TokenOrigin, TokenView } from '../../logical/request.js'
import { KEYS } from '../../storage/keys/key-families.js'

/** Times in milliseconds since the epoch, spans in whole seconds, 0 = not set. */
export interface StoredToken {
  readonly id: string
  readonly accessor: string
  readonly namespaceId: string
  readonly policies: readonly string[]
  /** The request path that made it, below its namespace. */
  readonly path: string
  readonly displayName: string
  readonly meta: Readonly<Record<string, string>> | null
  readonly entityId: string
  /** Storage id of the parent; empty for an orphan. */
  readonly parent: string
  /** Uses left; 0 is no limit, -1 means that the last one was taken. */
  readonly numUses: number
  readonly createdAtMs: number
  /** The life it was created with. */
  readonly ttlSeconds: number
  /** The life that creation or the last renewal granted. */
  readonly leaseTtlSeconds: number
  readonly expiresAtMs: number | null
  readonly lastRenewalMs: number | null
  readonly explicitMaxTtlSeconds: number
  readonly periodSeconds: number
  /** The token role that made it; empty without one. */
  readonly role: string
  readonly boundCidrs: readonly string[]
  readonly isRenewable: boolean
  /** When the sweep looks at the token: at its end, or soon after its last use. */
  readonly sweepAtMs: number | null
  /** Set while its children are made orphans: no more of them may come. */
  readonly isClosing?: boolean
  /** What issued the token, for renewal. Records of earlier versions hold more of a login. */
  readonly login: TokenOrigin | null
  /** The accessor of the mount that issued it; empty for tokens that no auth method has issued. */
  readonly mountAccessor: string
  /** Whether rows lead to it from its accessor and its path: where its id was chosen, or an earlier version has made it. */
  readonly isIndexed: boolean
}

/** A live token. Replaced, never changed. */
export interface TokenEntry extends TokenView {
  /** The name under which its keys are stored; no secret. Empty for a batch token. */
  readonly storageId: string
  readonly parent: string
  readonly path: string
  readonly meta: Readonly<Record<string, string>> | null
  readonly numUses: number
  readonly createdAtMs: number
  readonly ttlSeconds: number
  readonly leaseTtlSeconds: number
  readonly expiresAtMs: number | undefined
  readonly lastRenewalMs: number | undefined
  readonly explicitMaxTtlSeconds: number
  readonly periodSeconds: number
  readonly role: string
  readonly boundCidrs: readonly string[]
  readonly isOrphan: boolean
  readonly isRenewable: boolean
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

/** `<creation path>/<storage id>`; a path that asked for a list keeps no empty segment. */
export const leaseIdOf = ({ path }: Pick<StoredToken, 'path'>, storageId: string): string =>
  `${withoutSlashes(path)}/${storageId}`

const withoutSlashes = (path: string): string => (path.endsWith('/') ? path.replace(/\/+$/, '') : path)

export const TOKEN_KEYS = {
  salt: `${KEYS.tokens}salt`,
  ids: `${KEYS.tokens}id/`,
  id: (storageId: string) => `${KEYS.tokens}id/${storageId}`,
  /** Of indexed tokens. */
  accessors: (namespaceId: string) => `${KEYS.tokens}accessor/${namespaceId}/`,
  children: (parent: string) => `${KEYS.tokens}parent/${parent}/`,
  /** Of indexed tokens. */
  leases: (namespaceId: string) => `${KEYS.leases}id/${namespaceId}/`,
  /** A row for each token that ends, ordered by time: 15 digits hold every date. */
  times: `${KEYS.leases}time/`,
  indexedTime: (ms: number, storageId: string) => `${KEYS.leases}time/${String(ms).padStart(15, '0')}.${storageId}`,
  cubbyhole: (storageId: string) => `${KEYS.cubbyholes}${storageId}/`,
} as const

type Named = Pick<StoredToken, 'path' | 'namespaceId' | 'isIndexed'>

/** Where the row stands that tells the end of a token, and unless another row does that, where it was made. */
export const timeKey = (ms: number, storageId: string, { isIndexed, namespaceId, path }: Named): string => {
  const key = TOKEN_KEYS.indexedTime(ms, storageId)
  return isIndexed ? key : `${key}/${namespaceId}/${withoutSlashes(path)}`
}

/** What a key made by `timeKey` says; no place where another row tells that. */
export const parseTimeKey = (
  key: string,
): { timeMs: number; storageId: string; made?: { readonly namespaceId: string; readonly path: string } } => {
  const name = key.slice(TOKEN_KEYS.times.length)
  const timeMs = Number(name.slice(0, 15))
  const idEnd = name.indexOf('/')
  if (idEnd < 0) return { timeMs, storageId: name.slice(16) }
  const namespaceEnd = name.indexOf('/', idEnd + 1)
  const made = { namespaceId: name.slice(idEnd + 1, namespaceEnd), path: name.slice(namespaceEnd + 1) }
  return { timeMs, storageId: name.slice(16, idEnd), made }
}
