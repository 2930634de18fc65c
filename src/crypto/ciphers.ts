/** Authenticated ciphers for keys whose type the client selects. */
import { attempt } from '../base/attempt.js'
import { type CipherGCMTypes, createCipheriv, createDecipheriv } from 'node:crypto'
import { AEAD_TAG_BYTES } from './aead.js'

export type CipherName = 'aes-128-gcm' | 'aes-256-gcm' | 'chacha20-poly1305'

interface CipherInput {
  readonly cipher: CipherName
  readonly key: Buffer
  /** 12 bytes. */
  readonly nonce: Buffer
  /** Associated data: authenticated but not part of the output. */
  readonly associated: Buffer
}

/** GCM does not require this option, but ChaCha20-Poly1305 does. */
const OPTIONS = { authTagLength: AEAD_TAG_BYTES }

/** Returns the ciphertext, followed by the tag. */
export const encryptBytes = ({ cipher, key, nonce, associated }: CipherInput, plain: Buffer): Buffer => {
  const encryption = createCipheriv(cipher as CipherGCMTypes, key, nonce, OPTIONS)
  encryption.setAAD(associated, { plaintextLength: plain.length })
  return Buffer.concat([encryption.update(plain), encryption.final(), encryption.getAuthTag()])
}

/** Returns the plaintext. Returns undefined if the key, the nonce, the associated data or any bit differs. */
export const decryptBytes = ({ cipher, key, nonce, associated }: CipherInput, sealed: Buffer): Buffer | undefined => {
  const end = sealed.length - AEAD_TAG_BYTES
  if (end < 0) return undefined
  const decryption = createDecipheriv(cipher as CipherGCMTypes, key, nonce, OPTIONS)
  decryption.setAAD(associated, { plaintextLength: end })
  decryption.setAuthTag(sealed.subarray(end))
  return attempt(() => Buffer.concat([decryption.update(sealed.subarray(0, end)), decryption.final()]))
}
