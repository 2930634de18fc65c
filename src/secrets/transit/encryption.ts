/** Encrypts and decrypts bytes with the versions of a key. */
import { AEAD_NONCE_BYTES } from '../../crypto/aead.js'
import { decryptBytes, encryptBytes } from '../../crypto/ciphers.js'
import { hmacSha256 } from '../../crypto/digest.js'
import { decryptWithRsa, encryptWithRsa, privateKeyOf } from '../../crypto/key-pairs.js'
import type { Random } from '../../base/random.js'
import { invalid } from '../../logical/errors.js'
import { privateKeyBytes, symmetricKeys } from './derivation.js'
import { type KeyRecord, typeOf } from './key-record.js'
import { CIPHERTEXT, formatVersioned, parseVersioned, pickVersion } from './versioned.js'

/** The context and the associated data of an item. Each is empty if the request does not contain it. */
interface CipherInputs {
  readonly context: Buffer
  readonly associated: Buffer
}

const NONE = Buffer.alloc(0)

export const encrypt = (
  record: KeyRecord,
  plain: Buffer,
  wanted: number,
  inputs: CipherInputs & { readonly random: Random },
): { readonly ciphertext: string; readonly key_version: number } => {
  const type = typeOf(record)
  if (!type.encrypts) throw invalid(`message encryption not supported for key type ${type.name}`)
  const version = pickVersion(record, wanted, 'encryption')
  const done = (bytes: Buffer) => ({
    ciphertext: formatVersioned(version, bytes.toString('base64')),
    key_version: version,
  })
  const { context, associated, random } = inputs
  if (type.form === 'pair') {
    const bytes = encryptWithRsa(privateKeyOf(privateKeyBytes(record, version, NONE)), plain)
    if (!bytes) throw invalid('failed to RSA encrypt the plaintext: crypto/rsa: message too long for RSA key size')
    return done(bytes)
  }
  const { key, nonceKey } = symmetricKeys(record, version, context)
  // In convergent encryption, the same plaintext in the same context always has the same nonce. The nonce must also
  // depend on the associated data, because two tags with the same nonce reveal the authentication key.
  const ownKey = nonceKey && associated.length > 0 ? hmacSha256(nonceKey, associated) : nonceKey
  const nonce = ownKey ? hmacSha256(ownKey, plain).subarray(0, AEAD_NONCE_BYTES) : random.bytes(AEAD_NONCE_BYTES)
  return done(Buffer.concat([nonce, encryptBytes({ cipher: type.cipher, key, nonce, associated }, plain)]))
}

export const decrypt = (record: KeyRecord, ciphertext: string, { context, associated }: CipherInputs): Buffer => {
  const type = typeOf(record)
  if (!type.encrypts) throw invalid(`message decryption not supported for key type ${type.name}`)
  const { version, rest } = parseVersioned(record, ciphertext, CIPHERTEXT)
  const bytes = decode(rest)
  if (type.form === 'pair') {
    const plain = decryptWithRsa(privateKeyOf(privateKeyBytes(record, version, NONE)), bytes)
    if (!plain) throw invalid('failed to RSA decrypt the ciphertext: crypto/rsa: decryption error')
    return plain
  }
  const { key } = symmetricKeys(record, version, context)
  if (bytes.length < AEAD_NONCE_BYTES) throw invalid('invalid ciphertext length')
  const nonce = bytes.subarray(0, AEAD_NONCE_BYTES)
  const plain = decryptBytes({ cipher: type.cipher, key, nonce, associated }, bytes.subarray(AEAD_NONCE_BYTES))
  if (!plain) throw invalid(`${type.failurePrefix}: message authentication failed`)
  return plain
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

const decode = (text: string): Buffer => {
  if (text.length % 4 !== 0 || !BASE64.test(text)) throw invalid('invalid ciphertext: could not decode base64')
  return Buffer.from(text, 'base64')
}
