import { BASE62, base62 } from '../../base/id.js'
import type { Random } from '../../base/random.js'
import { isSameSecret } from '../../crypto/constant-time.js'
import { hmacSha256 } from '../../crypto/digest.js'
import type { AuthAnswer } from '../../logical/request.js'
import type { TokenEntry } from './token-record.js'

/**
 * The format of service tokens. Internally, a token is `hvs.` and 24 letters and digits. Clients receive root tokens in
 * this short form, and all other tokens in a long form that cannot be forged: 68 bytes in base64url, with the sizes in
 * bytes:
 *
 *     version 1 | log index 8 | letters and digits of the token 24 | zeros 3 | HMAC-SHA-256 of all preceding bytes 32
 *
 * In both forms, tokens outside the root namespace end with a dot and the ID of their namespace.
 */

const PREFIX = 'hvs.'
const RANDOM_LENGTH = 24
const VERSION = 1
const ID_AT = 9
const MAC_AT = 36
const LONG_BYTES = 68
const LONG_LENGTH = 91
const SHORT_ID = /^[0-9A-Za-z]{24}$/

export const suffixOf = (namespaceId: string): string => (namespaceId === 'root' ? '' : `.${namespaceId}`)

export const newTokenId = (random: Random, namespaceId: string): string =>
  `${PREFIX}${base62(random, RANDOM_LENGTH)}${suffixOf(namespaceId)}`

export const newAccessor = (random: Random, namespaceId: string): string =>
  `${base62(random, RANDOM_LENGTH)}${suffixOf(namespaceId)}`

/**
 * Returns the accessor for 32 bytes. Some letters are slightly more likely than others, which is acceptable because an
 * accessor only has to be unique.
 */
export const accessorFrom = (bytes: Buffer, namespaceId: string): string => {
  let letters = ''
  for (let at = 0; at < RANDOM_LENGTH; at++) letters += BASE62[(bytes[at] ?? 0) % BASE62.length]
  return letters + suffixOf(namespaceId)
}

/** Returns the namespace ID in the suffix of a token or an accessor. */
export const namespaceIdOf = (text: string): string => {
  const dot = text.lastIndexOf('.')
  return dot <= 'hvs'.length ? 'root' : text.slice(dot + 1)
}

/** Returns the long form of an internal ID. A custom ID is returned unchanged. */
export const presentLong = (key: Buffer, id: string, position: number): string => {
  const body = id.slice(PREFIX.length, PREFIX.length + RANDOM_LENGTH)
  if (!id.startsWith(PREFIX) || !SHORT_ID.test(body)) return id
  const bytes = Buffer.alloc(LONG_BYTES)
  bytes.writeUInt8(VERSION, 0)
  bytes.writeBigUInt64BE(BigInt(position), 1)
  bytes.write(body, ID_AT, 'latin1')
  hmacSha256(key, bytes.subarray(0, MAC_AT)).copy(bytes, MAC_AT)
  return `${PREFIX}${bytes.toString('base64url')}${id.slice(PREFIX.length + RANDOM_LENGTH)}`
}

/**
 * Returns the internal ID of a presented token in long or short form; undefined for a long form that was tampered with.
 */
export const parsePresented = (key: () => Buffer, presented: string): string | undefined => {
  if (!presented.startsWith(PREFIX)) return presented
  const dot = presented.indexOf('.', PREFIX.length)
  const end = dot < 0 ? presented.length : dot
  if (end - PREFIX.length !== LONG_LENGTH) return presented
  const text = presented.slice(PREFIX.length, end)
  const bytes = Buffer.from(text, 'base64url')
  // The last base64 character has unused bits. Only the canonical encoding is valid, so that no other text is the same
  // token.
  if (bytes.length !== LONG_BYTES || bytes.readUInt8(0) !== VERSION || bytes.toString('base64url') !== text)
    return undefined
  if (!isSameSecret(hmacSha256(key(), bytes.subarray(0, MAC_AT)), bytes.subarray(MAC_AT))) return undefined
  return `${PREFIX}${bytes.toString('latin1', ID_AT, ID_AT + RANDOM_LENGTH)}${presented.slice(end)}`
}

/**
 * Returns the log index in a token in long form, which the caller has verified with `parsePresented`. Returns 0 for the
 * short form.
 */
export const positionIn = (presented: string): number => {
  const [text = ''] = presented.slice(PREFIX.length).split('.')
  return text.length === LONG_LENGTH ? Number(Buffer.from(text, 'base64url').readBigUInt64BE(1)) : 0
}

/**
 * Returns the `auth` of a response. `clientToken` is the token in the form that the client receives, or empty.
 * `identityPolicies` are the additional policies of the token's entity.
 */
export const answerOf = (
  entry: TokenEntry,
  clientToken: string,
  ttlSeconds: number,
  identityPolicies: readonly string[],
): AuthAnswer => ({
  clientToken,
  accessor: entry.accessor,
  policies: allPolicies(entry.policies, identityPolicies),
  tokenPolicies: [...entry.policies],
  identityPolicies: [...identityPolicies],
  metadata: entry.meta,
  leaseDurationSeconds: ttlSeconds,
  renewable: entry.isRenewable,
  entityId: entry.entityId,
  tokenType: entry.type,
  orphan: entry.isOrphan,
  numUses: entry.numUses,
})

/** Returns the policies of a token and its entity as one list. The list is sorted if the entity adds policies. */
export const allPolicies = (own: readonly string[], identityPolicies: readonly string[]): string[] =>
  identityPolicies.length === 0 ? [...own] : [...new Set([...own, ...identityPolicies])].sort()
