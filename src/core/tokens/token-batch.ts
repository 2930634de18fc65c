import type { Random } from '../../base/random.js'
import { AEAD_NONCE_BYTES, AEAD_TAG_BYTES, openSealed, sealInto } from '../../crypto/aead.js'
import { namespaceIdOf, suffixOf } from './token-format.js'
import type { StoredToken } from './token-record.js'

/**
 * Batch tokens: `hvb.` followed by the token's data, encrypted with a key that all clusters with the same keyring
 * derive. Batch tokens are not stored, so they cannot be revoked. They contain the storage ID of the parent, which
 * other clusters do not know.
 */

const PREFIX = 'hvb.'

export type BatchToken = Pick<
  StoredToken,
  | 'namespaceId'
  | 'policies'
  | 'path'
  | 'displayName'
  | 'meta'
  | 'entityId'
  | 'parent'
  | 'createdAtMs'
  | 'ttlSeconds'
  | 'expiresAtMs'
  | 'role'
  | 'boundCidrs'
>

export const isBatch = (presented: string): boolean => presented.startsWith(PREFIX)

export const sealBatch = (key: Buffer, random: Random, token: BatchToken): string => {
  const { namespaceId, policies, path, displayName, meta, entityId, parent } = token
  const { createdAtMs, ttlSeconds, expiresAtMs, role, boundCidrs } = token
  const fields = [
    policies,
    path,
    displayName,
    meta,
    entityId,
    parent,
    createdAtMs,
    ttlSeconds,
    expiresAtMs,
    role,
    boundCidrs,
  ]
  const plain = Buffer.from(JSON.stringify(fields))
  const sealed = Buffer.alloc(plain.length + AEAD_NONCE_BYTES + AEAD_TAG_BYTES)
  sealInto(sealed, 0, key, random.bytes(AEAD_NONCE_BYTES), plain, namespaceId)
  return `${PREFIX}${sealed.toString('base64url')}${suffixOf(namespaceId)}`
}

/**
 * Decrypts a batch token. Returns undefined if the token was not encrypted with this key and for the namespace of its
 * suffix.
 */
export const openBatch = (key: Buffer, presented: string): BatchToken | undefined => {
  const namespaceId = namespaceIdOf(presented)
  const end = namespaceId === 'root' ? presented.length : presented.lastIndexOf('.')
  const text = presented.slice(PREFIX.length, end)
  const sealed = Buffer.from(text, 'base64url')
  if (sealed.toString('base64url') !== text) return undefined
  const plain = openSealed(key, sealed, namespaceId)
  if (!plain) return undefined
  const [policies, path, displayName, meta, entityId, parent, createdAtMs, ttlSeconds, expiresAtMs, role, boundCidrs] =
    JSON.parse(plain.toString('utf8'))
  return {
    namespaceId,
    policies,
    path,
    displayName,
    meta,
    entityId,
    parent,
    createdAtMs,
    ttlSeconds,
    expiresAtMs,
    role,
    boundCidrs,
  }
}
