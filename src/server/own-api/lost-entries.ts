import { LOCAL_FOLDERS, REPLICATED_FOLDERS } from '../../auth/approle/secret-id-records.js'
import { parseTimeKey, TOKEN_KEYS } from '../../core/tokens/token-record.js'
import type { JsonObject } from '../../logical/json.js'
import type { LostEntry } from '../../replication/roles/losses.js'
import type { CREDENTIALS } from './server-operations.js'

const FOLDERS = [REPLICATED_FOLDERS, LOCAL_FOLDERS] as const
/** Matches the path of a key of AppRole. The first group is the path of the mount. */
const patternOf = (part: keyof (typeof FOLDERS)[number], name: string): RegExp =>
  new RegExp(`^(.*/)(?:${FOLDERS.map((folders) => folders[part]).join('|')})${name}$`)
const SECRET_ID = patternOf('secretIds', '[0-9a-f]{64}/[0-9a-f]{64}')
const ACCESSOR = patternOf('accessors', '[^/]+')

/**
 * Describes lost entries, in the order of the log. `credential` is the type of the credential that an entry revoked. The
 * credential is valid again, because the entry is lost. It is null for all other entries, and for a credential that the
 * lost entries also created, or a token that has expired. The lease of a token counts as its token.
 */
export const describeLost = (entries: readonly LostEntry[], nowMs: number): JsonObject[] => {
  const wasValid = findFormer(entries, nowMs)
  return entries.map(({ index, path, operation }) => {
    const credential = operation === 'delete' && wasValid(path) ? typeOf(path) : undefined
    return { index, path, operation, credential: credential ?? null }
  })
}

const typeOf = (path: string): (typeof CREDENTIALS)[number] | undefined => {
  if (path.startsWith(TOKEN_KEYS.ids)) return 'token'
  return SECRET_ID.test(path) ? 'secret_id' : undefined
}

/** Returns a function that tells whether the record of a credential existed and was valid before the lost entries. */
const findFormer = (entries: readonly LostEntry[], nowMs: number): ((path: string) => boolean) => {
  /** The first entry of each record, and of the expiry of each token. */
  const first = new Map<string, LostEntry>()
  /** The entries that added a SecretID: only these write its accessor. */
  const additions = new Set<string>()
  for (const entry of entries) {
    const { index, path, operation } = entry
    const isExpiry = path.startsWith(TOKEN_KEYS.times)
    const key = isExpiry ? expiryOf(parseTimeKey(path).storageId) : path
    if (!first.has(key)) first.set(key, entry)
    const mount = ACCESSOR.exec(path)?.[1]
    if (mount !== undefined && operation === 'put') additions.add(`${index} ${mount}`)
  }
  return (path) => {
    const start = first.get(path)
    const mount = SECRET_ID.exec(path)?.[1]
    if (mount !== undefined) return start?.operation === 'delete' || !additions.has(`${start?.index} ${mount}`)
    const expiry = first.get(expiryOf(path.slice(TOKEN_KEYS.ids.length)))
    if (!expiry) return start?.operation === 'delete'
    // Each change of the expiry deletes the former row first. Without a former row, the token is new.
    return expiry.operation === 'delete' && parseTimeKey(expiry.path).timeMs > nowMs
  }
}

const expiryOf = (storageId: string): string => `${TOKEN_KEYS.times}${storageId}`
