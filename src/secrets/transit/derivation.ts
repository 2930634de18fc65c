/** Returns the key material of a version. The material of a derived key depends on the context. */
import { LIMITS } from '../../base/limits.js'
import { deriveBytes } from '../../crypto/digest.js'
import { ed25519KeyBytes, ed25519SeedOf } from '../../crypto/key-pairs.js'
import { invalid } from '../../logical/errors.js'
import { type KeyRecord, versionOf } from './key-record.js'

const MISSING =
  "missing 'context' for key derivation; the key was created using a derived key, which means additional, per-request information must be included in order to perform operations with the key"

const materialOf = (record: KeyRecord, version: number): Buffer =>
  Buffer.from(versionOf(record, version).material, 'base64')

/** Derives bytes from a secret and a context. Throws LogicalError 400 for a context that is missing or too long. */
const derive = (secret: Buffer, context: Buffer, length: number): Buffer => {
  if (context.length === 0) throw invalid(MISSING)
  if (context.length > LIMITS.transitContextBytesMax) {
    throw invalid(`the context is longer than ${LIMITS.transitContextBytesMax} bytes`)
  }
  return deriveBytes(secret, context, length)
}

/**
 * Returns the encryption key of a version and, for convergent encryption, the key that derives the nonce from the
 * plaintext.
 */
export const symmetricKeys = (
  record: KeyRecord,
  version: number,
  context: Buffer,
): { readonly key: Buffer; readonly nonceKey: Buffer | undefined } => {
  const secret = materialOf(record, version)
  if (!record.derived) return { key: secret, nonceKey: undefined }
  const length = secret.length
  const bytes = derive(secret, context, record.convergent ? length + NONCE_KEY_BYTES : length)
  return { key: bytes.subarray(0, length), nonceKey: record.convergent ? bytes.subarray(length) : undefined }
}

const NONCE_KEY_BYTES = 32
const SEED_BYTES = 32

/** Returns the private key of a version in PKCS #8. */
export const privateKeyBytes = (record: KeyRecord, version: number, context: Buffer): Buffer => {
  const material = materialOf(record, version)
  if (!record.derived) return material
  return ed25519KeyBytes(derive(ed25519SeedOf(material), context, SEED_BYTES))
}
