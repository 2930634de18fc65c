import { hasExpired, LOCAL_FOLDERS, REPLICATED_FOLDERS, type SecretId } from '../../auth/approle/secret-id-records.js'
import { parseTimeKey, TOKEN_KEYS } from '../../core/tokens/token-record.js'
import type { JsonObject } from '../../logical/json.js'
import { readRecord } from '../../logical/storage.js'
import type { ReplicationHost } from '../../replication/host/host.js'
import type { LostEntry } from '../../replication/roles/losses.js'
import { findMountOf, KEYS } from '../../storage/keys/key-families.js'
import type { CREDENTIALS } from './server-operations.js'

const SECRET_ID = new RegExp(
  `^(.*/)(?:${REPLICATED_FOLDERS.secretIds}|${LOCAL_FOLDERS.secretIds})[0-9a-f]{64}/[0-9a-f]{64}$`,
)

/**
 * Describes lost entries, in the order of the log. `credential` is the type of the credential that an entry revoked.
 * The credential is valid again, because the entry is lost. It is null for all other entries, and for a credential that
 * the lost entries also created, or that has expired. The lease of a token counts as its token. `isStored` tells
 * whether a SecretID is valid on the new primary.
 */
export const describeLost = (
  entries: readonly LostEntry[],
  nowMs: number,
  isStored: (secretIdPath: string) => boolean = () => true,
): JsonObject[] => {
  const wasValid = findFormer(entries, nowMs)
  return entries.map(({ index, path, operation }) => {
    const type = operation === 'delete' && wasValid(path) ? typeOf(path) : undefined
    return { index, path, operation, credential: type === 'secret_id' && !isStored(path) ? null : (type ?? null) }
  })
}

/**
 * Returns whether the data of this cluster has a SecretID that has not expired. `path` is the path of a lost entry.
 * Returns true if the mount is no longer at this path.
 */
export const hasSecretId = (
  { storage, mounts }: Pick<ReplicationHost, 'storage' | 'mounts'>,
  path: string,
  nowMs: number,
): boolean => {
  const mount = mounts().find((one) => one.path === SECRET_ID.exec(path)?.[1])
  if (!mount && !findMountOf(path)) return true
  const rest = mount && `${mount.uuid}/${path.slice(mount.path.length)}`
  const keys = rest === undefined ? [path] : [KEYS.authData + rest, KEYS.localAuthData + rest]
  const records = keys.map((key) => readRecord<SecretId>(storage, key))
  return records.some((record) => record !== undefined && !hasExpired(record, nowMs))
}

const typeOf = (path: string): (typeof CREDENTIALS)[number] | undefined => {
  if (path.startsWith(TOKEN_KEYS.ids)) return 'token'
  return SECRET_ID.test(path) ? 'secret_id' : undefined
}

/**
 * Returns a function that tells whether the record of a credential existed before the lost entries. A token must also
 * not have expired.
 */
const findFormer = (entries: readonly LostEntry[], nowMs: number): ((path: string) => boolean) => {
  /** The first entry of each record, and of the expiry of each token. */
  const first = new Map<string, LostEntry>()
  for (const entry of entries) {
    const { path } = entry
    const key = path.startsWith(TOKEN_KEYS.times) ? expiryOf(parseTimeKey(path).storageId) : path
    if (!first.has(key)) first.set(key, entry)
  }
  return (path) => {
    if (first.get(path)?.isNew) return false
    // Each change of the expiry deletes the former row first. A token without a former row did not expire.
    const expiry = first.get(expiryOf(path.slice(TOKEN_KEYS.ids.length)))
    return expiry?.operation !== 'delete' || parseTimeKey(expiry.path).timeMs > nowMs
  }
}

const expiryOf = (storageId: string): string => `${TOKEN_KEYS.times}${storageId}`
