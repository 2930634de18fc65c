import { createCipheriv, createDecipheriv } from 'node:crypto'

export const AEAD_NONCE_BYTES = 12
export const AEAD_TAG_BYTES = 16
export const AEAD_KEY_BYTES = 32
const CIPHER = 'aes-256-gcm'
const PIECE_BYTES = 64 * 1024

/**
 * Encrypts with AES-256-GCM. Writes the nonce, the ciphertext and the tag to `out` at `offset`, which is 28 bytes more
 * than `plain` has. `context` is authenticated but not part of the output.
 */
export const sealInto = (
  out: Buffer,
  offset: number,
  key: Buffer,
  nonce: Buffer,
  plain: Buffer,
  context: string,
): void => {
  const cipher = createCipheriv(CIPHER, key, nonce)
  cipher.setAAD(Buffer.from(context))
  nonce.copy(out, offset)
  const start = offset + AEAD_NONCE_BYTES
  // Encrypts in pieces, because the library allocates an output buffer per input. One large input would double the
  // memory.
  for (let at = 0; at < plain.length; at += PIECE_BYTES) {
    cipher.update(plain.subarray(at, at + PIECE_BYTES)).copy(out, start + at)
  }
  cipher.final()
  cipher.getAuthTag().copy(out, start + plain.length)
}

/** Decrypts the output of `sealInto`. Returns undefined if the key or the context is wrong, or any bit was changed. */
export const openSealed = (key: Buffer, sealed: Buffer, context: string): Buffer | undefined => {
  const textEnd = sealed.length - AEAD_TAG_BYTES
  if (textEnd < AEAD_NONCE_BYTES) return undefined
  const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, AEAD_NONCE_BYTES), {
    authTagLength: AEAD_TAG_BYTES,
  })
  decipher.setAAD(Buffer.from(context))
  decipher.setAuthTag(sealed.subarray(textEnd))
  const plain = decipher.update(sealed.subarray(AEAD_NONCE_BYTES, textEnd))
  try {
    decipher.final()
    return plain
  } catch {
    return undefined
  }
}
