import { hash } from 'node:crypto'

const BLOCK_BYTES = 64
const HASH_BYTES = 32
const INNER_PAD = 0x36
const OUTER_PAD = 0x5c

/** Returns the HMAC-SHA-256 of bytes or of a text's UTF-8. */
export const hmacSha256 = (key: Buffer, data: Buffer | string): Buffer =>
  Buffer.from(hash('sha256', outerText(key, data), 'binary'), 'latin1')

/** Returns the HMAC-SHA-256 as 64 hex digits. */
export const hmacSha256Hex = (key: Buffer, data: Buffer | string): string => hash('sha256', outerText(key, data), 'hex')

/** Returns the input of the outer hash of RFC 2104. Two one-shot hashes cost half as much as an Hmac object. */
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
