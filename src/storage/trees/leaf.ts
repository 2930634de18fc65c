import { SHORT_HASH_BYTES, sha256Start, shortHash, shortHashInTurns, shortHashOf } from '../../crypto/digest.js'

/** The hash of one key with its stored value: SHA-256 over both, each behind its length, shortened to 20 bytes. */
export const leafHash = (key: string, value: Buffer): Buffer => {
  const isLarge = value.length > COPIED_BYTES_MAX
  const data = leafHead(key, value, isLarge ? 0 : value.length)
  if (isLarge) return shortHashOf(data, value)
  value.copy(data, data.length - value.length)
  return shortHash(data)
}

/** `leafHash` for who goes through many: a large value is hashed in turns with others. */
export const leafHashInTurns = async (key: string, value: Buffer): Promise<Buffer> =>
  value.length > COPIED_BYTES_MAX ? shortHashInTurns(leafHead(key, value, 0), value) : leafHash(key, value)

/** What comes before the value, with room for so many bytes behind it. */
const leafHead = (key: string, value: Buffer, room: number): Buffer => {
  const keyBytes = Buffer.byteLength(key)
  const head = Buffer.allocUnsafe(8 + keyBytes + room)
  head.writeUInt32BE(keyBytes, 0)
  head.write(key, 4)
  head.writeUInt32BE(value.length, 4 + keyBytes)
  return head
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
