import { PIECE_BYTES } from '../../base/turn.js'
import { SHORT_HASH_BYTES, shortHash, shortHashInTurns } from '../../crypto/digest.js'
import { LogicalError } from '../../logical/errors.js'
import type { Frame, WalEntry, WalOperation } from '../keys/replicable.js'

/**
 * Codec of log frames. Big endian.
 *
 * Header, with sizes in bytes (104 in total):
 * - hash 20: truncated SHA-256 of all following bytes, including the body
 * - magic 2, version 1, flags 1, number of entries 4, first index 8, time in milliseconds 8 (float)
 * - hash of the previous frame 20, epoch 36 (ASCII, zero padded), body length 4
 *
 * Body, for each entry: remaining length 4, number of operations 4, then the operations:
 * - every operation: flags 1, delta 20
 * - filtered: sub-page 2
 * - deleted: key length 4, key
 * - written: key length 4, key, value length 4, value
 */

const HEADER_BYTES = 104
const MAGIC = 0x5557
const VERSION = 1
const AT = { magic: 20, version: 22, flags: 23, count: 24, first: 28, time: 36, previous: 44, epoch: 64, length: 100 }
export const EPOCH_BYTES = 36

const FRAME_REPLICATED = 1
const FRAME_LOCAL = 2
const OP_LOCAL = 1
const OP_DELETE = 2
const OP_FILTERED = 4
const OP_FIXED_BYTES = 1 + SHORT_HASH_BYTES

const operationBytes = (operation: WalOperation): number => {
  if (operation.filtered) return OP_FIXED_BYTES + 2
  const value = operation.value === undefined ? 0 : 4 + operation.value.length
  return OP_FIXED_BYTES + 4 + Buffer.byteLength(operation.key) + value
}

const operationFlags = (operation: WalOperation): number =>
  (operation.category === 'local' ? OP_LOCAL : 0) |
  (operation.filtered ? OP_FILTERED : operation.value === undefined ? OP_DELETE : 0)

/** Writes an operation and returns its end offset. */
const writeOperation = (out: Buffer, start: number, operation: WalOperation): number => {
  out[start] = operationFlags(operation)
  operation.delta.copy(out, start + 1)
  let at = start + OP_FIXED_BYTES
  if (operation.filtered) return out.writeUInt16BE(operation.filtered.subPage, at)
  const keyBytes = out.write(operation.key, at + 4)
  out.writeUInt32BE(keyBytes, at)
  at += 4 + keyBytes
  if (operation.value === undefined) return at
  out.writeUInt32BE(operation.value.length, at)
  return at + 4 + operation.value.copy(out, at + 4)
}

/** Encodes one transaction as an entry of a frame's body. */
export const encodeEntry = (operations: readonly WalOperation[]): Buffer => {
  const out = Buffer.allocUnsafe(entryBytes(operations))
  writeEntry(out, 0, operations)
  return out
}

export type FrameEntry = Buffer | readonly WalOperation[]

const entryBytes = (operations: readonly WalOperation[]): number => {
  let length = 8
  for (const operation of operations) length += operationBytes(operation)
  return length
}

/** Writes an entry and returns its end offset. */
const writeEntry = (out: Buffer, start: number, operations: readonly WalOperation[]): number => {
  let at = out.writeUInt32BE(operations.length, start + 4)
  for (const operation of operations) at = writeOperation(out, at, operation)
  out.writeUInt32BE(at - start - 4, start)
  return at
}

interface FrameHead {
  readonly firstIndex: number
  readonly previousHash: Buffer
  readonly epoch: string
  readonly timeMs: number
  readonly hasReplicated: boolean
  readonly hasLocal: boolean
}

export const encodeFrame = (head: FrameHead, entries: readonly FrameEntry[]): Frame => {
  let bodyBytes = 0
  for (const entry of entries) bodyBytes += Buffer.isBuffer(entry) ? entry.length : entryBytes(entry)
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + bodyBytes)
  bytes.writeUInt16BE(MAGIC, AT.magic)
  bytes[AT.version] = VERSION
  bytes[AT.flags] = (head.hasReplicated ? FRAME_REPLICATED : 0) | (head.hasLocal ? FRAME_LOCAL : 0)
  bytes.writeUInt32BE(entries.length, AT.count)
  bytes.writeUIntBE(0, AT.first, 2)
  bytes.writeUIntBE(head.firstIndex, AT.first + 2, 6)
  bytes.writeDoubleBE(head.timeMs, AT.time)
  head.previousHash.copy(bytes, AT.previous)
  bytes.fill(0, AT.epoch, AT.length)
  bytes.write(head.epoch, AT.epoch, EPOCH_BYTES, 'latin1')
  let at = bytes.writeUInt32BE(bodyBytes, AT.length)
  for (const entry of entries) {
    if (Buffer.isBuffer(entry)) at += entry.copy(bytes, at)
    else at = writeEntry(bytes, at, entry)
  }
  shortHash(bytes.subarray(SHORT_HASH_BYTES)).copy(bytes, 0)
  return frameOf(bytes)
}

const frameOf = (bytes: Buffer): Frame => {
  const firstIndex = bytes.readUIntBE(AT.first + 2, 6)
  const flags = bytes[AT.flags] ?? 0
  return {
    firstIndex,
    lastIndex: firstIndex + bytes.readUInt32BE(AT.count) - 1,
    previousHash: bytes.subarray(AT.previous, AT.previous + SHORT_HASH_BYTES),
    hash: bytes.subarray(0, SHORT_HASH_BYTES),
    timeMs: bytes.readDoubleBE(AT.time),
    bytes,
    body: bytes.subarray(HEADER_BYTES),
    hasReplicated: (flags & FRAME_REPLICATED) !== 0,
    hasLocal: (flags & FRAME_LOCAL) !== 0,
  }
}

/**
 * Parses a frame. Resolves to undefined if the bytes are not a frame or their hash is wrong. Yields to the event loop
 * while it hashes a large frame.
 */
export const parseFrame = async (bytes: Buffer): Promise<Frame | undefined> =>
  bytes.length <= PIECE_BYTES
    ? parseFrameAtOnce(bytes)
    : isShaped(bytes)
      ? withHash(bytes, await shortHashInTurns(bytes.subarray(SHORT_HASH_BYTES)))
      : undefined

/** Parses a frame like `parseFrame`, but synchronously, which blocks the event loop for a large frame. */
export const parseFrameAtOnce = (bytes: Buffer): Frame | undefined =>
  isShaped(bytes) ? withHash(bytes, shortHash(bytes.subarray(SHORT_HASH_BYTES))) : undefined

const isShaped = (bytes: Buffer): boolean =>
  bytes.length >= HEADER_BYTES &&
  bytes.readUInt16BE(AT.magic) === MAGIC &&
  bytes[AT.version] === VERSION &&
  bytes.readUInt32BE(AT.length) === bytes.length - HEADER_BYTES &&
  bytes.readUInt32BE(AT.count) > 0

const withHash = (bytes: Buffer, hash: Buffer): Frame | undefined =>
  hash.equals(bytes.subarray(0, SHORT_HASH_BYTES)) ? frameOf(bytes) : undefined

/** Returns the epoch that was current when the frame was written. */
export const epochOf = (frame: Frame): string => {
  const text = frame.bytes.toString('latin1', AT.epoch, AT.epoch + EPOCH_BYTES)
  const end = text.indexOf('\0')
  return end < 0 ? text : text.slice(0, end)
}

/**
 * Decodes the transactions of a parsed frame. Throws `LogicalError` `internal` if the body is invalid although the hash
 * is correct: an incompatible version wrote the frame.
 */
export const decodeFrame = (frame: Frame): readonly WalEntry[] => {
  try {
    return [...entriesOf(frame)]
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new LogicalError(
      'internal',
      `cannot decode log frame ${frame.firstIndex}: an incompatible version wrote it`,
      { cause: error },
    )
  }
}

function* entriesOf(frame: Frame): Generator<WalEntry> {
  const { body } = frame
  let at = 0
  for (let index = frame.firstIndex; index <= frame.lastIndex; index++) {
    const end = at + 4 + body.readUInt32BE(at)
    if (end > body.length) throw new RangeError('an entry ends after the end of its frame')
    const bytes = body.subarray(at, end)
    yield { index, operations: decodeOperations(bytes), bytes }
    at = end
  }
}

const decodeOperations = (entry: Buffer): WalOperation[] => {
  const operations: WalOperation[] = []
  let at = 8
  for (let left = entry.readUInt32BE(4); left > 0; left--) {
    const flags = entry.readUInt8(at)
    const category = (flags & OP_LOCAL) === 0 ? 'replicated' : 'local'
    const delta = entry.subarray(at + 1, at + OP_FIXED_BYTES)
    at += OP_FIXED_BYTES
    if ((flags & OP_FILTERED) !== 0) {
      operations.push({ key: '', category, value: undefined, delta, filtered: { subPage: entry.readUInt16BE(at) } })
      at += 2
      continue
    }
    const keyEnd = at + 4 + entry.readUInt32BE(at)
    const key = entry.toString('utf8', at + 4, keyEnd)
    at = keyEnd
    let value: Buffer | undefined
    if ((flags & OP_DELETE) === 0) {
      const valueEnd = at + 4 + entry.readUInt32BE(at)
      value = entry.subarray(at + 4, valueEnd)
      at = valueEnd
    }
    if (at > entry.length) throw new RangeError('an operation ends after the end of its entry')
    operations.push({ key, category, value, delta })
  }
  return operations
}
