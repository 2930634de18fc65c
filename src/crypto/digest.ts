import { createHash, createHmac, hash, hkdfSync } from 'node:crypto'
import { nextTurn, PIECE_BYTES, piecesOf } from '../base/turn.js'

/**
 * Returns the SHA-256 of bytes, or of a text in UTF-8. The hash function returns a binary string here, because a buffer
 * would take three times as long.
 */
export const sha256 = (data: Buffer | string): Buffer => Buffer.from(hash('sha256', data, 'binary'), 'latin1')

/** Returns the SHA-256 as 64 hex digits. */
export const sha256Hex = (data: Buffer | string): string => hash('sha256', data, 'hex')

/** Returns an object that computes a SHA-256 from several pieces. */
export const createSha256 = (): { add(piece: Buffer): void; hex(): string } => {
  const digest = createHash('sha256')
  return { add: (piece) => void digest.update(piece), hex: () => digest.digest('hex') }
}

/** Length of the truncated hashes in hash trees and log frames. */
export const SHORT_HASH_BYTES = 20

/** Returns the SHA-256 truncated to 20 bytes. */
export const shortHash = (data: Buffer): Buffer =>
  Buffer.from(hash('sha256', data, 'binary').slice(0, SHORT_HASH_BYTES), 'latin1')

/** Returns the `shortHash` of the concatenated pieces. Does not copy the pieces. */
export const shortHashOf = (...pieces: readonly Buffer[]): Buffer => {
  const digest = createHash('sha256')
  for (const piece of pieces) digest.update(piece)
  return digest.digest().subarray(0, SHORT_HASH_BYTES)
}

/** Returns the `shortHash` of the concatenated parts. If a part is large, yields to the event loop between pieces. */
export const shortHashInTurns = async (...parts: readonly Buffer[]): Promise<Buffer> =>
  (await sha256InTurns(...parts)).subarray(0, SHORT_HASH_BYTES)

/** Returns the SHA-256 of the concatenated parts. If a part is large, yields to the event loop between pieces. */
export const sha256InTurns = async (...parts: readonly Buffer[]): Promise<Buffer> => {
  const isLarge = parts.some(({ length }) => length > PIECE_BYTES)
  const digest = createHash('sha256')
  for (const piece of piecesOf(...parts)) {
    digest.update(piece)
    if (isLarge) await nextTurn()
  }
  return digest.digest()
}

/** Writes the `shortHash` of `data` to `target` at `offset`. This saves a buffer per hash. */
export const shortHashInto = (target: Buffer, offset: number, data: Buffer): void =>
  void target.write(hash('sha256', data, 'binary'), offset, SHORT_HASH_BYTES, 'latin1')

/** Returns the first 16 bits of the SHA-256 of a text in UTF-8. */
export const sha256Start = (text: string): number => {
  const digest = hash('sha256', text, 'binary')
  return (digest.charCodeAt(0) << 8) | digest.charCodeAt(1)
}

/** Derives 32 bytes from a secret for one purpose (HKDF with SHA-256, without salt). */
export const deriveKey = (secret: Buffer, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', purpose, 32))

/** Derives `length` bytes from a secret for one context of at most 1024 bytes (HKDF with SHA-256, without salt). */
export const deriveBytes = (secret: Buffer, context: Buffer, length: number): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', context, length))

/** The algorithms that a client can select, as OpenSSL names them. */
export type HashName =
  | 'sha1'
  | 'sha224'
  | 'sha256'
  | 'sha384'
  | 'sha512'
  | 'sha3-224'
  | 'sha3-256'
  | 'sha3-384'
  | 'sha3-512'

/** Returns the hash of bytes, with an algorithm that the client selects. */
export const hashBytes = (name: HashName, data: Buffer): Buffer => createHash(name).update(data).digest()

export const hmacBytes = (name: HashName, key: Buffer, data: Buffer): Buffer =>
  createHmac(name, key).update(data).digest()

const BLOCK_BYTES = 64
const HASH_BYTES = 32
const INNER_PAD = 0x36
const OUTER_PAD = 0x5c

/** Returns the HMAC-SHA-256 of bytes, or of a text in UTF-8. */
export const hmacSha256 = (key: Buffer, data: Buffer | string): Buffer =>
  Buffer.from(hash('sha256', outerText(key, data), 'binary'), 'latin1')

/** Returns the HMAC-SHA-256 as 64 hex digits. */
export const hmacSha256Hex = (key: Buffer, data: Buffer | string): string => hash('sha256', outerText(key, data), 'hex')

/** Returns the input of the outer hash of an HMAC (RFC 2104). Two `hash` calls take half as long as an Hmac object. */
const outerText = (key: Buffer, data: Buffer | string): Buffer => {
  const short = key.length > BLOCK_BYTES ? Buffer.from(hash('sha256', key, 'binary'), 'latin1') : key
  const size = typeof data === 'string' ? Buffer.byteLength(data) : data.length
  const inner = Buffer.allocUnsafe(BLOCK_BYTES + size)
  putPadded(inner, short, INNER_PAD)
  if (typeof data === 'string') inner.write(data, BLOCK_BYTES)
  else data.copy(inner, BLOCK_BYTES)
  const outer = Buffer.allocUnsafe(BLOCK_BYTES + HASH_BYTES)
  putPadded(outer, short, OUTER_PAD)
  outer.write(hash('sha256', inner, 'binary'), BLOCK_BYTES, 'latin1')
  return outer
}

const putPadded = (out: Buffer, key: Buffer, pad: number): void => {
  for (let at = 0; at < key.length; at++) out[at] = (key[at] ?? 0) ^ pad
  out.fill(pad, key.length, BLOCK_BYTES)
}
