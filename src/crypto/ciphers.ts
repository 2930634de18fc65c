/** Authenticated ciphers by name, for keys that clients have chosen the type of. */
import { createCipheriv, createDecipheriv } from 'node:crypto'
import { AEAD_TAG_BYTES } from './aead.js'

export type CipherName = 'aes-128-gcm' | 'aes-256-gcm' | 'chacha20-poly1305'

interface CipherInput {
  readonly cipher: CipherName
  readonly key: Buffer
  /** 12 bytes. */
  readonly nonce: Buffer
  /** Authenticated, not part of the result. */
  readonly associated: Buffer
}

const OPTIONS = { authTagLength: AEAD_TAG_BYTES }

/** Ciphertext and tag. */
export const encryptBytes = ({ cipher, key, nonce, associated }: CipherInput, plain: Buffer): Buffer => {
  const encryption =
    cipher === 'chacha20-poly1305'
      ? createCipheriv(cipher, key, nonce, OPTIONS)
      : createCipheriv(cipher, key, nonce, OPTIONS)
  encryption.setAAD(associated, { plaintextLength: plain.length })
  return Buffer.concat([encryption.update(plain), encryption.final(), encryption.getAuthTag()])
}

/** The plain bytes; undefined when key, nonce, what was authenticated or any bit is another. */
export const decryptBytes = ({ cipher, key, nonce, associated }: CipherInput, sealed: Buffer): Buffer | undefined => {
  const end = sealed.length - AEAD_TAG_BYTES
  if (end < 0) return undefined
  const decryption =
    cipher === 'chacha20-poly1305'
      ? createDecipheriv(cipher, key, nonce, OPTIONS)
      : createDecipheriv(cipher, key, nonce, OPTIONS)
  decryption.setAAD(associated, { plaintextLength: end })
  decryption.setAuthTag(sealed.subarray(end))
  try {
    return Buffer.concat([decryption.update(sealed.subarray(0, end)), decryption.final()])
  } catch {
    return undefined
  }
}
