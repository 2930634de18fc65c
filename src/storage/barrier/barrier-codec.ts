import type { Random } from '../../base/random.js'
import { AEAD_NONCE_BYTES, AEAD_TAG_BYTES, openSealed, sealInto } from '../../crypto/aead.js'
import type { Keyring } from '../../crypto/keyring.js'
import { LogicalError } from '../../logical/errors.js'

/**
 * Format of an encrypted value: version (1 byte), term of the encryption key (4 bytes, big endian), nonce (12 bytes),
 * ciphertext, tag (16 bytes). The tag also covers the storage key, so a value that was copied to another storage key
 * fails to decrypt.
 */

const VERSION = 1
const HEAD_BYTES = 5
const OVERHEAD_BYTES = HEAD_BYTES + AEAD_NONCE_BYTES + AEAD_TAG_BYTES

const sealTerm = (random: Random, term: number, secret: Buffer, key: string, plain: Buffer): Buffer => {
  const out = Buffer.allocUnsafe(plain.length + OVERHEAD_BYTES)
  out[0] = VERSION
  out.writeUInt32BE(term, 1)
  sealInto(out, HEAD_BYTES, secret, random.bytes(AEAD_NONCE_BYTES), plain, key)
  return out
}

export const sealValue = (random: Random, keyring: Keyring, key: string, plain: Buffer): Buffer => {
  const secret = keyring.find(keyring.activeTerm)
  if (secret === undefined) throw new Error('the keyring has no active term')
  return sealTerm(random, keyring.activeTerm, secret, key, plain)
}

/** Returns false if the keyring lacks the encryption key of the value. Returns true if the value is too short. */
export const knowsTerm = (keyring: Keyring, stored: Buffer): boolean =>
  stored.length < OVERHEAD_BYTES || keyring.find(stored.readUInt32BE(1)) !== undefined

/** Decrypts a value. Throws `LogicalError` `internal` if the value is damaged or its key is not in the keyring. */
export const openValue = (keyring: Keyring, key: string, stored: Buffer): Buffer => {
  const found = findPlain(keyring, key, stored)
  if (found === undefined)
    throw new LogicalError('internal', `cannot decrypt the stored value of ${JSON.stringify(key)}: it is damaged`)
  return found
}

/** Decrypts a value. Returns undefined if the value is damaged or its encryption key is not in the keyring. */
export const findPlain = (keyring: Keyring, key: string, stored: Buffer): Buffer | undefined => {
  if (stored.length < OVERHEAD_BYTES || stored[0] !== VERSION) return undefined
  const secret = keyring.find(stored.readUInt32BE(1))
  return secret === undefined ? undefined : openSealed(secret, stored.subarray(HEAD_BYTES), key)
}

/** Encrypts the keyring with the root key. The result has term 0, because the keyring contains no root key. */
export const sealWithRoot = (random: Random, rootKey: Buffer, key: string, plain: Buffer): Buffer =>
  sealTerm(random, 0, rootKey, key, plain)

/** Decrypts the keyring. Returns undefined if the root key is wrong or the keyring is damaged. */
export const openWithRoot = (rootKey: Buffer, key: string, stored: Buffer): Buffer | undefined =>
  stored[0] === VERSION ? openSealed(rootKey, stored.subarray(HEAD_BYTES), key) : undefined
