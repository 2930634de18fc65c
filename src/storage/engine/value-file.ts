import { closeSync, openSync, readSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { PIECE_BYTES, piecesOf } from '../../base/turn.js'
import { createSha256 } from '../../crypto/digest.js'
import { failedDisk } from './level-failure.js'
import { findKind, openRegular, READ_REGULAR } from './regular-file.js'

/** Format of a file with one value: key length (4 bytes, big endian), key, value, SHA-256 of all preceding bytes. */
const LENGTH_BYTES = 4
const DIGEST_BYTES = 32

/**
 * Writes a value file. Resolves when the content of the file survives a power loss. The caller must then sync the
 * directory. Rejects if the file exists.
 */
export const writeValueFile = async (path: string, key: string, value: Buffer): Promise<void> => {
  await using file = await open(path, 'wx', 0o600)
  const digest = createSha256()
  for (const piece of piecesOf(headOf(key), value)) {
    digest.add(piece)
    await file.writeFile(piece)
  }
  await file.writeFile(Buffer.from(digest.hex(), 'hex'))
  await file.datasync()
}

const headOf = (key: string): Buffer => {
  const bytes = Buffer.from(key)
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}

/** Resolves to the key in a value file, or to undefined if the key is incomplete or the entry is not a regular file. */
export const readKeyOf = async (path: string): Promise<string | undefined> => {
  await using file = await openRegular(path)
  if (!file) return undefined
  const length = await readAt(file, 0, LENGTH_BYTES)
  const { size } = await file.stat()
  const keyBytes = length?.readUInt32BE() ?? Number.POSITIVE_INFINITY
  return keyBytes > size ? undefined : (await readAt(file, LENGTH_BYTES, keyBytes))?.toString('utf8')
}

const readAt = async (file: FileHandle, position: number, count: number): Promise<Buffer | undefined> => {
  const bytes = Buffer.alloc(count)
  return (await readInto(file, bytes, position)) ? bytes : undefined
}

/**
 * Reads a value with a size of `bytes` from a file. Does not verify the digest. Returns undefined if the entry is
 * missing, not a regular file, or too short. Throws `LogicalError` `unavailable` for other errors.
 */
export const readValue = (path: string, key: string, bytes: number): Buffer | undefined => {
  try {
    if (findKind(path) !== undefined) return undefined
    const value = Buffer.allocUnsafeSlow(bytes)
    const file = openSync(path, READ_REGULAR)
    try {
      return readWhole(file, value, LENGTH_BYTES + Buffer.byteLength(key)) ? value : undefined
    } finally {
      closeSync(file)
    }
  } catch (error) {
    throw failedDisk(error)
  }
}

/** Reads a value like `readValue`, but does not block the event loop. Suits callers that read many values. */
export const readValueInTurns = async (path: string, key: string, bytes: number): Promise<Buffer | undefined> => {
  try {
    await using file = await openRegular(path)
    if (!file) return undefined
    const value = Buffer.allocUnsafeSlow(bytes)
    let position = LENGTH_BYTES + Buffer.byteLength(key)
    for (const piece of piecesOf(value)) {
      if (!(await readInto(file, piece, position))) return undefined
      position += piece.length
    }
    return value
  } catch (error) {
    throw failedDisk(error)
  }
}

/** Returns false if the file ends early. */
const readInto = async (file: FileHandle, into: Buffer, position: number): Promise<boolean> => {
  for (let at = 0; at < into.length; ) {
    const { bytesRead } = await file.read(into, at, into.length - at, position + at)
    if (bytesRead === 0) return false
    at += bytesRead
  }
  return true
}

/** Returns false if the file ends early. */
const readWhole = (file: number, into: Buffer, position: number): boolean => {
  for (let at = 0; at < into.length; ) {
    const count = readSync(file, into, at, into.length - at, position + at)
    if (count === 0) return false
    at += count
  }
  return true
}

/** Resolves to true if the digest of a value file is correct. */
export const isValueFileSound = async (path: string): Promise<boolean> => {
  const file = await openRegular(path).catch(() => undefined)
  try {
    return file !== undefined && (await isSound(file))
  } catch {
    return false
  } finally {
    await file?.close()
  }
}

const isSound = async (file: FileHandle): Promise<boolean> => {
  const end = (await file.stat()).size - DIGEST_BYTES
  if (end < LENGTH_BYTES) return false
  const digest = createSha256()
  const piece = Buffer.allocUnsafeSlow(Math.min(end, PIECE_BYTES))
  for (let at = 0; at < end; at += piece.length) {
    const some = piece.subarray(0, end - at)
    if (!(await readInto(file, some, at))) return false
    digest.add(some)
  }
  return digest.hex() === (await readAt(file, end, DIGEST_BYTES))?.toString('hex')
}
