import { pagesOf, type Storage } from '../../logical/storage.js'
import { LEASE_KEYS, parseDueRow } from '../leases/lease-record.js'
import { compareKeys } from '../../storage/engine/ordered-map.js'
import { parseTimeKey, TOKEN_KEYS } from './token-record.js'

/**
 * Finds the tokens with an expiry by the path that created them. Indexed tokens (see `isIndexed`) have a row below this
 * path. All other tokens only have a row in the order of expiry, so a listing reads the rows of all of them. Listings
 * are rare, and an extra row would slow down every login. `allLeases` also includes the leases of secrets.
 */

/** The number of rows per read. */
const CHUNK = 1000

/** A row of a token with an expiry. */
interface LeaseRow {
  readonly key: string
  readonly storageId: string
}

/** A stored lease: a service token with an expiry, or a secret. */
export interface LeaseEntry {
  readonly namespaceId: string
  /** The path that created the token or the secret. */
  readonly path: string
  /** The last segment of the lease ID, which is the storage ID of a token. */
  readonly storageId: string
}

/** Parses the key of a row that names the path of a lease; undefined for any other key. */
export const parseLease = (key: string): LeaseEntry | undefined => {
  const secret = parseDueRow(key)
  if (secret) return splitPath(secret.namespaceId, secret.id)
  if (key.startsWith(TOKEN_KEYS.times)) {
    const { made, storageId } = parseTimeKey(key)
    return made && { ...made, storageId }
  }
  if (!key.startsWith(TOKEN_KEYS.indexed)) return undefined
  const [namespaceId = '', ...rest] = key.slice(TOKEN_KEYS.indexed.length).split('/')
  return splitPath(namespaceId, rest.join('/'))
}

const splitPath = (namespaceId: string, leaseId: string): LeaseEntry => {
  const end = leaseId.lastIndexOf('/')
  return { namespaceId, path: leaseId.slice(0, end), storageId: leaseId.slice(end + 1) }
}

/** Yields all leases, in chunks. */
export async function* allLeases(storage: Storage): AsyncGenerator<readonly LeaseEntry[]> {
  for (const prefix of [TOKEN_KEYS.indexed, TOKEN_KEYS.times, LEASE_KEYS.due]) {
    for await (const page of pagesOf(storage, prefix, CHUNK)) yield page.flatMap((key) => parseLease(key) ?? [])
  }
}

/** Returns the names below a folder of lease IDs, sorted: leases, and folders with a trailing slash. */
export const listLeases = async (storage: Storage, namespaceId: string, folder: string): Promise<string[]> => {
  const names = new Set(await storage.list(TOKEN_KEYS.leases(namespaceId) + folder))
  for await (const rows of timeRows(storage, namespaceId, folder)) {
    for (const { leaseId } of rows) names.add(firstName(leaseId.slice(folder.length)))
  }
  return [...names].sort(compareKeys)
}

/**
 * Yields the rows of lease IDs that begin with `prefix`, in chunks. May miss a token that is renewed to an earlier
 * expiry in the meantime.
 */
export async function* leasesBelow(
  storage: Storage,
  namespaceId: string,
  prefix: string,
): AsyncGenerator<readonly LeaseRow[]> {
  for await (const page of pagesOf(storage, TOKEN_KEYS.leases(namespaceId) + prefix, CHUNK)) {
    yield page.map((key) => ({ key, storageId: key.slice(key.lastIndexOf('/') + 1) }))
  }
  yield* timeRows(storage, namespaceId, prefix)
}

async function* timeRows(
  storage: Storage,
  namespaceId: string,
  prefix: string,
): AsyncGenerator<readonly (LeaseRow & { readonly leaseId: string })[]> {
  for await (const page of pagesOf(storage, TOKEN_KEYS.times, CHUNK)) {
    yield page.flatMap((key) => {
      const { made, storageId } = parseTimeKey(key)
      if (made?.namespaceId !== namespaceId) return []
      const leaseId = `${made.path}/${storageId}`
      return leaseId.startsWith(prefix) ? [{ key, storageId, leaseId }] : []
    })
  }
}

const firstName = (rest: string): string => {
  const slash = rest.indexOf('/')
  return slash < 0 ? rest : rest.slice(0, slash + 1)
}
