import { createCipheriv, createDecipheriv, createHash } from 'node:crypto'
import { open, readFile } from 'node:fs/promises'
import { parseJsonObject } from './json.js'
import { replaceFileBy } from './replace-file.js'

/**
 * The size of the key of a sealed file. A sealed file is a line of plaintext JSON (the header), then chunks of
 * ciphertext (AES-256-GCM), each preceded by its length. Each chunk authenticates the header and its own position, so
 * that changes, reordering and truncation are detected.
 */
export const SEAL_KEY_BYTES = 32

const NONCE_BYTES = 12
const TAG_BYTES = 16
const PIECE_BYTES = 1024 * 1024
const HEADER_BYTES_MAX = 64 * 1024

/** Returns an ID that distinguishes keys without revealing them. */
export const keyIdOf = (key: Buffer): string =>
  createHash('sha256').update('understudy key id').update(key).digest('hex').slice(0, 16)

const nonceOf = (index: number): Buffer => {
  const nonce = Buffer.alloc(NONCE_BYTES)
  nonce.writeUIntBE(index, NONCE_BYTES - 6, 6)
  return nonce
}

/** Returns the associated data of a chunk: the hash of the header, and whether the chunk is the last one. */
const associatedData = (header: Buffer, isLast: boolean): Buffer =>
  Buffer.concat([createHash('sha256').update(header).digest(), Buffer.from([isLast ? 1 : 0])])

/** Writes a sealed file atomically. Each key must be used for only one file. */
export const writeSealedFile = (
  file: string,
  header: object,
  key: Buffer,
  content: AsyncIterable<Buffer>,
): Promise<void> =>
  replaceFileBy(file, async (handle) => {
    const line = Buffer.from(`${JSON.stringify(header)}\n`)
    await handle.write(line)
    let index = 0
    const write = async (piece: Buffer, isLast: boolean) => {
      const cipher = createCipheriv('aes-256-gcm', key, nonceOf(index++)).setAAD(associatedData(line, isLast))
      const sealed = Buffer.concat([cipher.update(piece), cipher.final(), cipher.getAuthTag()])
      const length = Buffer.alloc(4)
      length.writeUInt32BE(sealed.length)
      await handle.write(Buffer.concat([length, sealed]))
    }
    let left = Buffer.alloc(0)
    for await (const part of content) {
      left = Buffer.concat([left, part])
      while (left.length > PIECE_BYTES) {
        await write(left.subarray(0, PIECE_BYTES), false)
        left = left.subarray(PIECE_BYTES)
      }
    }
    await write(left, true)
  })

type SealedFault = 'not-sealed' | 'ends-early' | 'wrong'

export class SealedFileError extends Error {
  override readonly name = 'SealedFileError'
  readonly fault: SealedFault

  constructor(fault: SealedFault) {
    super(fault)
    this.fault = fault
  }
}

/** Reads the header of a sealed file without its key. The header is not authenticated. */
export const readSealedHeader = async (file: string): Promise<Record<string, unknown>> => {
  const handle = await open(file)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEADER_BYTES_MAX), 0, HEADER_BYTES_MAX, 0)
    return parseHeader(lineOf(buffer.subarray(0, bytesRead)))
  } finally {
    await handle.close()
  }
}

/** Reads the whole content of a sealed file. Rejects with SealedFileError. */
export const openSealedFile = async (file: string, key: Buffer): Promise<Buffer> => {
  const { line, pieces } = piecesOf(await readFile(file))
  const parts = pieces.map((sealed, index) => {
    const isLast = index === pieces.length - 1
    // If the file is truncated, its last chunk was encrypted as a chunk that others follow, so its decryption as the
    // last chunk fails.
    const opened = unseal(sealed, key, index, associatedData(line, isLast))
    if (!opened && isLast && unseal(sealed, key, index, associatedData(line, false)))
      throw new SealedFileError('ends-early')
    if (!opened) throw new SealedFileError('wrong')
    return opened
  })
  return Buffer.concat(parts)
}

/** Checks, without the key, that the file ends at the end of a chunk. Rejects with SealedFileError if it does not. */
export const checkSealedLength = async (file: string): Promise<void> => {
  piecesOf(await readFile(file))
}

const piecesOf = (bytes: Buffer): { readonly line: Buffer; readonly pieces: readonly Buffer[] } => {
  const line = lineOf(bytes)
  parseHeader(line)
  const pieces: Buffer[] = []
  for (let at = line.length; at < bytes.length; ) {
    if (at + 4 > bytes.length) throw new SealedFileError('ends-early')
    const end = at + 4 + bytes.readUInt32BE(at)
    if (end > bytes.length) throw new SealedFileError('ends-early')
    pieces.push(bytes.subarray(at + 4, end))
    at = end
  }
  if (pieces.length === 0) throw new SealedFileError('ends-early')
  return { line, pieces }
}

const unseal = (sealed: Buffer, key: Buffer, index: number, associated: Buffer): Buffer | undefined => {
  if (sealed.length < TAG_BYTES) return undefined
  const end = sealed.length - TAG_BYTES
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(index)).setAAD(associated)
    decipher.setAuthTag(sealed.subarray(end))
    return Buffer.concat([decipher.update(sealed.subarray(0, end)), decipher.final()])
  } catch {
    return undefined
  }
}

const lineOf = (bytes: Buffer): Buffer => {
  const end = bytes.subarray(0, HEADER_BYTES_MAX).indexOf('\n')
  if (end < 0) throw new SealedFileError('not-sealed')
  return bytes.subarray(0, end + 1)
}

const parseHeader = (line: Buffer): Record<string, unknown> => {
  const header = parseJsonObject(line)
  if (!header) throw new SealedFileError('not-sealed')
  return header
}
