import { LogicalError } from '../../logical/errors.js'
import type { StoredToken } from './token-record.js'

/** The format version, which is the first element of a record. */
const VERSION = 1

type Listed = Exclude<keyof StoredToken, 'isIndexed'>

/** The position of each value in a record. */
const POSITIONS: Readonly<Record<Listed, number>> = {
  id: 1,
  accessor: 2,
  namespaceId: 3,
  policies: 4,
  path: 5,
  displayName: 6,
  meta: 7,
  entityId: 8,
  parent: 9,
  numUses: 10,
  createdAtMs: 11,
  ttlSeconds: 12,
  leaseTtlSeconds: 13,
  expiresAtMs: 14,
  lastRenewalMs: 15,
  explicitMaxTtlSeconds: 16,
  periodSeconds: 17,
  role: 18,
  boundCidrs: 19,
  isRenewable: 20,
  sweepAtMs: 21,
  isClosing: 22,
  login: 23,
  mountAccessor: 24,
}

const COLUMNS = Object.entries(POSITIONS) as [name: Listed, position: number][]

/**
 * Encodes a token as JSON. A token without index rows becomes a list of values. A token with index rows becomes an object,
 * the only format of earlier versions.
 */
export const encodeToken = (token: StoredToken): Buffer => {
  if (token.isIndexed) {
    const { isIndexed: _, ...named } = token
    return Buffer.from(JSON.stringify(named))
  }
  const list: unknown[] = [VERSION]
  for (const [name, position] of COLUMNS) list[position] = token[name]
  list[POSITIONS.isClosing] = token.isClosing === true
  return Buffer.from(JSON.stringify(list))
}

/** Throws LogicalError `internal` for a record of a later format. */
export const decodeToken = (bytes: Buffer): StoredToken => {
  const stored = JSON.parse(bytes.toString('utf8')) as unknown[] | Omit<StoredToken, 'isIndexed'>
  if (!Array.isArray(stored)) return { ...stored, isIndexed: true }
  if (stored[0] !== VERSION) {
    throw new LogicalError('internal', `a token is stored in format ${stored[0]} of a later version`)
  }
  const token: Record<string, unknown> = { isIndexed: false }
  for (const [name, position] of COLUMNS) token[name] = stored[position]
  return token as unknown as StoredToken
}
