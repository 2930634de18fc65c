import { SHORT_HASH_BYTES, sha256Start, shortHash, shortHashOf } from '../../crypto/digest.js'

/** The hash of one key with its stored value: SHA-256 over both, each behind its length, shortened to 20 bytes. */
export const leafHash = (key: string, value: Buffer): Buffer => {
  const keyBytes = Buffer.byteLength(key)
  const isLarge = value.length > COPIED_BYTES_MAX
  const data = Buffer.allocUnsafe(8 + keyBytes + (isLarge ? 0 : value.length))
  data.writeUInt32BE(keyBytes, 0)
  data.write(key, 4)
  data.writeUInt32BE(value.length, 4 + keyBytes)
  if (isLarge) return shortHashOf(data, value)
  value.copy(data, 8 + keyBytes)
  return shortHash(data)
}

/** Values up to this size are copied: one hash over one buffer is cheapest for them. Larger ones are not worth a copy. */
const COPIED_BYTES_MAX = 64 * 1024

/** The sub-page of a key: the first 16 bits of its SHA-256. */
export const subPageOf = (key: string): number => sha256Start(key)

export const NO_LEAF = Buffer.alloc(SHORT_HASH_BYTES)

/** XORs `source` into 20 bytes of `target`. */
export const xorInto = (target: Buffer, offset: number, source: Buffer): void => {
  for (let i = 0; i < SHORT_HASH_BYTES; i++) {
    target[offset + i] = (target[offset + i] ?? 0) ^ (source[i] ?? 0)
  }
}

export const xorOf = (a: Buffer, b: Buffer): Buffer => {
  const out = Buffer.from(a)
  xorInto(out, 0, b)
  return out
}
