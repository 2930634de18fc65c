import { SHORT_HASH_BYTES, sha256Start, shortHash, shortHashInTurns, shortHashOf } from '../../crypto/digest.js'

/**
 * Computes the hash of one key and its stored value: SHA-256 over both, each with its length before it, truncated to 20
 * bytes.
 */
export const leafHash = (key: string, value: Buffer): Buffer => {
  const isLarge = value.length > COPIED_BYTES_MAX
  const data = leafHead(key, value, isLarge ? 0 : value.length)
  if (isLarge) return shortHashOf(data, value)
  value.copy(data, data.length - value.length)
  return shortHash(data)
}

/** Computes `leafHash`, but yields to the event loop while it hashes a large value. For callers that hash many. */
export const leafHashInTurns = async (key: string, value: Buffer): Promise<Buffer> =>
  value.length > COPIED_BYTES_MAX ? shortHashInTurns(leafHead(key, value, 0), value) : leafHash(key, value)

/** Returns the bytes before the value, with `room` free bytes after them. */
const leafHead = (key: string, value: Buffer, room: number): Buffer => {
  const keyBytes = Buffer.byteLength(key)
  const head = Buffer.allocUnsafe(8 + keyBytes + room)
  head.writeUInt32BE(keyBytes, 0)
  head.write(key, 4)
  head.writeUInt32BE(value.length, 4 + keyBytes)
  return head
}

/**
 * Values up to this size are copied, because one hash over one buffer is cheapest. For larger values the copy costs
 * more.
 */
const COPIED_BYTES_MAX = 64 * 1024

/** Returns the sub-page of a key: the first 16 bits of its SHA-256. */
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

/** Returns the numbers of the hashes in which two lists of `count` hashes differ. Most lists are equal. */
export const differingHashes = (a: Buffer, b: Buffer, count: number): number[] => {
  const found: number[] = []
  if (a.compare(b, 0, count * SHORT_HASH_BYTES, 0, count * SHORT_HASH_BYTES) === 0) return found
  for (let n = 0; n < count; n++) {
    const [at, end] = [n * SHORT_HASH_BYTES, (n + 1) * SHORT_HASH_BYTES]
    if (a.compare(b, at, end, at, end) !== 0) found.push(n)
  }
  return found
}
