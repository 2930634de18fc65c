import { LogicalError } from '../../logical/errors.js'
import type { StoredToken } from './token-record.js'

/** The format version, which is the first element of a record. */
const VERSION = 1

/**
 * Encodes a token as JSON. A token without index rows becomes a list of values. A token with index rows becomes an
 * object, the only format of earlier versions. The literals below are twice as fast as a loop over a table of columns.
 */
export const encodeToken = (token: StoredToken): Buffer => {
  if (token.isIndexed) {
    const { isIndexed: _, ...named } = token
    return Buffer.from(JSON.stringify(named))
  }
  const list: ListedToken = [
    VERSION,
    token.id,
    token.accessor,
    token.namespaceId,
    token.policies,
    token.path,
    token.displayName,
    token.meta,
    token.entityId,
    token.parent,
    token.numUses,
    token.createdAtMs,
    token.ttlSeconds,
    token.leaseTtlSeconds,
    token.expiresAtMs,
    token.lastRenewalMs,
    token.explicitMaxTtlSeconds,
    token.periodSeconds,
    token.role,
    token.boundCidrs,
    token.isRenewable,
    token.sweepAtMs,
    token.isClosing === true,
    token.login,
    token.mountAccessor,
  ]
  return Buffer.from(JSON.stringify(list))
}

type ListedToken = [
  version: number,
  id: string,
  accessor: string,
  namespaceId: string,
  policies: StoredToken['policies'],
  path: string,
  displayName: string,
  meta: StoredToken['meta'],
  entityId: string,
  parent: string,
  numUses: number,
  createdAtMs: number,
  ttlSeconds: number,
  leaseTtlSeconds: number,
  expiresAtMs: number | null,
  lastRenewalMs: number | null,
  explicitMaxTtlSeconds: number,
  periodSeconds: number,
  role: string,
  boundCidrs: StoredToken['boundCidrs'],
  isRenewable: boolean,
  sweepAtMs: number | null,
  isClosing: boolean,
  login: StoredToken['login'],
  mountAccessor: string,
]

/** Decodes a stored token. Throws LogicalError `internal` for a record in the format of a later version. */
export const decodeToken = (bytes: Buffer): StoredToken => {
  const stored = JSON.parse(bytes.toString('utf8')) as ListedToken | Omit<StoredToken, 'isIndexed'>
  if (!Array.isArray(stored)) return { ...stored, isIndexed: true }
  if (stored[0] !== VERSION) {
    throw new LogicalError('internal', `a token has format ${stored[0]} of a later version: upgrade this server`)
  }
  return {
    id: stored[1],
    accessor: stored[2],
    namespaceId: stored[3],
    policies: stored[4],
    path: stored[5],
    displayName: stored[6],
    meta: stored[7],
    entityId: stored[8],
    parent: stored[9],
    numUses: stored[10],
    createdAtMs: stored[11],
    ttlSeconds: stored[12],
    leaseTtlSeconds: stored[13],
    expiresAtMs: stored[14],
    lastRenewalMs: stored[15],
    explicitMaxTtlSeconds: stored[16],
    periodSeconds: stored[17],
    role: stored[18],
    boundCidrs: stored[19],
    isRenewable: stored[20],
    sweepAtMs: stored[21],
    isClosing: stored[22],
    login: stored[23],
    mountAccessor: stored[24],
    isIndexed: false,
  }
}
