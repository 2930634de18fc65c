import { closeSync, openSync, readSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { createSha256 } from '../../crypto/digest.js'
import { failedDisk } from './level-failure.js'
import { findKind, openRegular, READ_REGULAR } from './regular-file.js'

/** A file that holds one value: length of the key 4, key, value, SHA-256 of all that. It is never changed. */
const LENGTH_BYTES = 4
const DIGEST_BYTES = 32

/** So much is hashed and written before others get their turn. */
const PIECE_BYTES = 1024 * 1024

/** Resolves when the file survives power loss, but for its name in the directory, where nothing may have that name. */
export const writeValueFile = async (path: string, key: string, value: Buffer): Promise<void> => {
  const file = await open(path, 'wx', 0o600)
  try {
    const digest = createSha256()
    for (const piece of piecesOf(headOf(key), value)) {
      digest.add(piece)
      await file.writeFile(piece)
    }
    await file.writeFile(Buffer.from(digest.hex(), 'hex'))
    await file.datasync()
  } finally {
    await file.close()
  }
}

const headOf = (key: string): Buffer => {
  const bytes = Buffer.from(key)
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}

function* piecesOf(...parts: readonly Buffer[]): Generator<Buffer> {
  for (const part of parts) {
    for (let at = 0; at < part.length; at += PIECE_BYTES) yield part.subarray(at, at + PIECE_BYTES)
  }
}

/** The key whose value the file holds; undefined when not even the key was written in full, or it is no file. */
export const readKeyOf = async (path: string): Promise<string | undefined> => {
  const file = await openRegular(path)
  if (!file) return undefined
  try {
    const length = await readAt(file, 0, LENGTH_BYTES)
    const { size } = await file.stat()
    const keyBytes = length?.readUInt32BE() ?? Number.POSITIVE_INFINITY
    return keyBytes > size ? undefined : (await readAt(file, LENGTH_BYTES, keyBytes))?.toString('utf8')
  } finally {
    await file.close()
  }
}

const readAt = async (file: FileHandle, position: number, count: number): Promise<Buffer | undefined> => {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(count), 0, count, position)
  return bytesRead === count ? buffer : undefined
}

/** Reads the value of a key, so many bytes. Undefined when there is no file or it ends early; what else fails is a LogicalError. */
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

/** False when the file ends early. */
const readWhole = (file: number, into: Buffer, position: number): boolean => {
  for (let at = 0; at < into.length; ) {
    const count = readSync(file, into, at, into.length - at, position + at)
    if (count === 0) return false
    at += count
  }
  return true
}

/** Whether it is as it was written. */
export const isValueFileSound = async (path: string): Promise<boolean> => {
  const bytes = await readWholeFile(path).catch(() => undefined)
  if (!bytes || bytes.length < LENGTH_BYTES + DIGEST_BYTES) return false
  const digest = createSha256()
  const end = bytes.length - DIGEST_BYTES
  for (const piece of piecesOf(bytes.subarray(0, end))) digest.add(piece)
  return digest.hex() === bytes.toString('hex', end)
}

const readWholeFile = async (path: string): Promise<Buffer | undefined> => {
  const file = await openRegular(path)
  try {
    return await file?.readFile()
  } finally {
    await file?.close()
  }
}
