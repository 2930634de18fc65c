import { LogicalError } from '../../logical/errors.js'

/**
 * Packs keys and values into the format that replication sends: key length (32 bits, big endian), key, value length (32
 * bits), value. The leaf hash is the hash of exactly these bytes, so the receiver hashes each entry without a copy.
 */

const LENGTH_BYTES = 4
/** Maximum UTF-8 bytes of one UTF-16 code unit. */
const UNIT_BYTES_MAX = 3
const NOTHING = Buffer.alloc(0)

export class Packer {
  readonly #capacity: number
  #target = NOTHING
  #length = 0

  /** Creates a packer. `capacity` is the expected size of each `take`, in bytes. */
  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get bytes(): number {
    return this.#length
  }

  add(key: string, value: Buffer): void {
    this.#reserve(2 * LENGTH_BYTES + UNIT_BYTES_MAX * key.length + value.length)
    const target = this.#target
    const keyAt = this.#length + LENGTH_BYTES
    const keyBytes = target.write(key, keyAt)
    target.writeUInt32BE(keyBytes, this.#length)
    target.writeUInt32BE(value.length, keyAt + keyBytes)
    const valueAt = keyAt + keyBytes + LENGTH_BYTES
    target.set(value, valueAt)
    this.#length = valueAt + value.length
  }

  /** Returns the entries that were added since the last call. */
  take(): Buffer {
    const packed = this.#target.subarray(0, this.#length)
    this.#target = NOTHING
    this.#length = 0
    return packed
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes
    if (needed <= this.#target.length) return
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#length === 0 ? this.#capacity : 2 * this.#target.length))
    this.#target.copy(grown, 0, 0, this.#length)
    this.#target = grown
  }
}

/** Calls `take` for each packed entry. `entry` has all bytes of the entry. Throws `LogicalError` for damaged bytes. */
export const unpack = (packed: Buffer, take: (key: string, value: Buffer, entry: Buffer) => void): void => {
  for (let at = 0; at < packed.length; ) {
    const keyAt = at + LENGTH_BYTES
    const keyEnd = keyAt + lengthAt(packed, at)
    const valueAt = keyEnd + LENGTH_BYTES
    const end = valueAt + lengthAt(packed, keyEnd)
    if (end > packed.length) throw damaged()
    take(packed.toString('utf8', keyAt, keyEnd), packed.subarray(valueAt, end), packed.subarray(at, end))
    at = end
  }
}

export const unpackAll = (packed: Buffer): { key: string; value: Buffer }[] => {
  const entries: { key: string; value: Buffer }[] = []
  unpack(packed, (key, value) => entries.push({ key, value }))
  return entries
}

const lengthAt = (packed: Buffer, at: number): number => {
  if (at + LENGTH_BYTES > packed.length) throw damaged()
  return packed.readUInt32BE(at)
}

const damaged = (): LogicalError =>
  new LogicalError('unavailable', 'cannot copy data from the primary: the received entries are damaged')
