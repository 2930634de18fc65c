/**
 * Encryption of one key with another key. The purpose is authenticated, so that a wrapped key cannot be used for
 * another purpose.
 */
import type { Random } from '../base/random.js'
import { AEAD_KEY_BYTES, AEAD_NONCE_BYTES, AEAD_TAG_BYTES, openSealed, sealInto } from '../crypto/aead.js'

export const ROOT_KEY_BYTES = AEAD_KEY_BYTES
export const WRAPPED_ROOT_BYTES = AEAD_NONCE_BYTES + ROOT_KEY_BYTES + AEAD_TAG_BYTES

/** Encrypts `key`. The result is 28 bytes longer than `key`. */
export const wrapKey = (random: Random, wrappingKey: Buffer, key: Buffer, purpose: string): Buffer => {
  const out = Buffer.alloc(AEAD_NONCE_BYTES + key.length + AEAD_TAG_BYTES)
  sealInto(out, 0, wrappingKey, random.bytes(AEAD_NONCE_BYTES), key, purpose)
  return out
}

/** Decrypts a wrapped key. Returns undefined if `wrappingKey` or `purpose` is wrong. */
export const unwrapKey = (wrappingKey: Buffer, wrapped: Buffer, purpose: string): Buffer | undefined =>
  wrappingKey.length === AEAD_KEY_BYTES ? openSealed(wrappingKey, wrapped, purpose) : undefined
