import { SHORT_HASH_BYTES, shortHash } from '../../crypto/digest.js'
import { LogicalError } from '../../logical/errors.js'
import type { LogEntry, LogPosition } from './shared-log.js'

/**
 * Codec of an entry of the shared log: the operations of one batch on the raw keys of an engine, in order. Big endian.
 *
 * Sizes in bytes:
 * - header: hash 20 (truncated SHA-256 of all following bytes), version 1, hash of the previous entry 20, number of
 *   operations 4
 * - each operation: key length 4, key, (value length + 1) 4, value. 0 instead of the value length deletes the key
 */

const VERSION = 1
const AT = { version: SHORT_HASH_BYTES, previous: SHORT_HASH_BYTES + 1, count: 2 * SHORT_HASH_BYTES + 1 }
const HEADER_BYTES = AT.count + 4

/** One operation of a batch. An undefined value deletes the key. */
export interface RawOperation {
  readonly key: string
  readonly value: Buffer | undefined
}

/** The position before the first entry. */
export const LOG_START: LogPosition = { index: 0, hash: Buffer.alloc(SHORT_HASH_BYTES) }

const operationBytes = ({ key, value }: RawOperation): number => 8 + Buffer.byteLength(key) + (value?.length ?? 0)

const writeOperation = (out: Buffer, start: number, { key, value }: RawOperation): number => {
  const keyBytes = out.write(key, start + 4)
  let at = out.writeUInt32BE(keyBytes, start) + keyBytes
  at = out.writeUInt32BE(value === undefined ? 0 : value.length + 1, at)
  return value === undefined ? at : at + value.copy(out, at)
}

/** Encodes the entry that follows the entry with the hash `previous`. */
export const encodeBatch = (previous: Buffer, operations: readonly RawOperation[]): Buffer => {
  let length = HEADER_BYTES
  for (const operation of operations) length += operationBytes(operation)
  const out = Buffer.allocUnsafe(length)
  out[AT.version] = VERSION
  previous.copy(out, AT.previous)
  let at = out.writeUInt32BE(operations.length, AT.count)
  for (const operation of operations) at = writeOperation(out, at, operation)
  shortHash(out.subarray(SHORT_HASH_BYTES)).copy(out)
  return out
}

export const positionOf = ({ index, bytes }: LogEntry): LogPosition => ({
  index,
  hash: Buffer.from(bytes.subarray(0, SHORT_HASH_BYTES)),
})

/** Returns the position at which the log continues after its content was replaced at `end`. No entry has it. */
export const positionAfter = (end: LogPosition): LogPosition => ({
  index: end.index + 1,
  hash: shortHash(Buffer.concat([Buffer.from('replaced'), end.hash])),
})

export const previousHashOf = (entry: Buffer): Buffer => entry.subarray(AT.previous, AT.previous + SHORT_HASH_BYTES)

/** Decodes the operations of an entry. Throws `LogicalError` `internal` if the bytes are damaged. */
export const decodeBatch = ({ index, bytes }: LogEntry): RawOperation[] => {
  const isWhole = bytes.length >= HEADER_BYTES && bytes[AT.version] === VERSION
  if (!isWhole || !shortHash(bytes.subarray(SHORT_HASH_BYTES)).equals(bytes.subarray(0, SHORT_HASH_BYTES))) {
    throw new LogicalError('internal', `cannot read entry ${index} of the shared log: it is damaged`)
  }
  const operations: RawOperation[] = []
  let at = HEADER_BYTES
  const take = (length: number): Buffer => {
    at += length
    return bytes.subarray(at - length, at)
  }
  for (let left = bytes.readUInt32BE(AT.count); left > 0; left--) {
    const key = take(take(4).readUInt32BE()).toString('utf8')
    const valueBytes = take(4).readUInt32BE()
    operations.push({ key, value: valueBytes === 0 ? undefined : take(valueBytes - 1) })
  }
  return operations
}
