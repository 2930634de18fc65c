import { SHORT_HASH_BYTES, sha256Start, shortHash, shortHashInTurns, shortHashOf } from '../../crypto/digest.js'

/** Computes the leaf hash: SHA-256 over key length, key, value length and stored value, truncated to 20 bytes. */
export const leafHash = (key: string, value: Buffer): Buffer => {
  const isLarge = value.length > COPIED_BYTES_MAX
  const data = leafHead(key, value, isLarge ? 0 : value.length)
  if (isLarge) return shortHashOf(data, value)
  value.copy(data, data.length - value.length)
  return shortHash(data)
}

/** Computes `leafHash`, but does not block the event loop for a large value. Suits callers that hash many values. */
export const leafHashInTurns = async (key: string, value: Buffer): Promise<Buffer> =>
  value.length > COPIED_BYTES_MAX ? shortHashInTurns(leafHead(key, value, 0), value) : leafHash(key, value)

/** Returns the hashed bytes before the value, followed by `freeBytes` uninitialized bytes. */
const leafHead = (key: string, value: Buffer, freeBytes: number): Buffer => {
  const keyBytes = Buffer.byteLength(key)
  const head = Buffer.allocUnsafe(8 + keyBytes + freeBytes)
  head.writeUInt32BE(keyBytes, 0)
  head.write(key, 4)
  head.writeUInt32BE(value.length, 4 + keyBytes)
  return head
}

/**
 * Maximum bytes of a value that is copied behind its key, because one hash over one buffer is cheapest. Copying a
 * larger value costs more than it saves.
 */
const COPIED_BYTES_MAX = 64 * 1024

/** Returns the sub-page of a key: the first 16 bits of its SHA-256. */
export const subPageOf = (key: string): number => sha256Start(key)

export const NO_LEAF = Buffer.alloc(SHORT_HASH_BYTES)

/** XORs the 20 bytes of `source` into `target` at `offset`. */
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

/** Returns the positions at which two lists of `count` hashes differ. Most lists are equal. */
export const differingHashes = (a: Buffer, b: Buffer, count: number): number[] => {
  const found: number[] = []
  if (a.compare(b, 0, count * SHORT_HASH_BYTES, 0, count * SHORT_HASH_BYTES) === 0) return found
  for (let n = 0; n < count; n++) {
    const [at, end] = [n * SHORT_HASH_BYTES, (n + 1) * SHORT_HASH_BYTES]
    if (a.compare(b, at, end, at, end) !== 0) found.push(n)
  }
  return found
}
