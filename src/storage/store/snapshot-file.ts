import { pipeline, Readable } from 'node:stream'
import { createGunzip, createGzip } from 'node:zlib'
import { attempt } from '../../base/attempt.js'
import { LIMITS } from '../../base/limits.js'
import { readTar, TAR_END, TarError, type TarFile, tarFile } from '../../base/tar.js'
import { sha256Hex } from '../../crypto/digest.js'
import { invalid } from '../../logical/errors.js'
import type { Entry } from '../engine/engine.js'

/**
 * Format of a cluster snapshot: a gzipped tar archive. It contains `meta.json`, numbered files of stored records, the
 * hashes of these files (`SHA256SUMS`), and the same hashes encrypted with the root key (`SHA256SUMS.sealed`). The last
 * file shows clients that the archive is complete. A record is the key length and the value length (32 bits each, big
 * endian), the key, and the value as stored ciphertext.
 */

interface SnapshotMeta {
  readonly clusterId: string
  readonly clusterName: string
  /** Log index at which the records were read. */
  readonly index: number
}

interface SnapshotContent {
  readonly meta: SnapshotMeta
  readonly entries: AsyncIterable<readonly Entry[]>
  /** Encrypts the hashes with the root key. */
  readonly seal: (sums: Buffer) => Buffer
  readonly timeMs: number
}

interface VerifiedSnapshot {
  readonly meta: SnapshotMeta
  readonly sums: Buffer
  readonly sealedSums: Buffer
}

const META = 'meta.json'
const SUMS = 'SHA256SUMS'
const SEALED = 'SHA256SUMS.sealed'
const KNOWN: ReadonlySet<string> = new Set([META, SUMS, SEALED])
const RECORDS = /^records\/\d{8}$/
const FORMAT = { format: 'understudy-snapshot', version: 1 } as const
const RECORDS_BYTES = 1024 * 1024
const LENGTHS_BYTES = 8

/**
 * Returns the snapshot file as a stream, which is created while it is read. If the reader stops, the creation stops.
 */
export const writeSnapshot = (content: SnapshotContent): AsyncIterable<Buffer> => {
  const gzip = createGzip({ level: 1 })
  // An error of `archive` destroys the stream, so that the reader receives the error.
  pipeline(Readable.from(archive(content)), gzip, () => undefined)
  return gzip
}

async function* archive({ meta, entries, seal, timeMs }: SnapshotContent): AsyncGenerator<Buffer> {
  const lines: string[] = []
  const add = (name: string, content: Buffer): Buffer => {
    lines.push(`${sha256Hex(content)}  ${name}\n`)
    return tarFile({ name, content }, timeMs)
  }
  yield add(META, Buffer.from(JSON.stringify({ ...FORMAT, ...meta })))
  let number = 0
  for await (const records of encode(entries)) {
    yield add(`records/${String(++number).padStart(8, '0')}`, records)
  }
  const sums = Buffer.from(lines.join(''))
  yield tarFile({ name: SUMS, content: sums }, timeMs)
  yield tarFile({ name: SEALED, content: seal(sums) }, timeMs)
  yield TAR_END
}

async function* encode(entries: AsyncIterable<readonly Entry[]>): AsyncGenerator<Buffer> {
  let parts: Buffer[] = []
  let bytes = 0
  for await (const chunk of entries) {
    for (const { key, value } of chunk) {
      const name = Buffer.from(key)
      const lengths = Buffer.alloc(LENGTHS_BYTES)
      lengths.writeUInt32BE(name.length, 0)
      lengths.writeUInt32BE(value.length, 4)
      parts.push(lengths, name, value)
      bytes += LENGTHS_BYTES + name.length + value.length
      if (bytes < RECORDS_BYTES) continue
      yield Buffer.concat(parts)
      parts = []
      bytes = 0
    }
  }
  if (bytes > 0) yield Buffer.concat(parts)
}

/**
 * Reads a whole snapshot file and verifies every hash. Rejects with `LogicalError` (status 400) if the file is not a
 * complete snapshot.
 */
export const verifySnapshot = async (file: Buffer): Promise<VerifiedSnapshot> => {
  const lines: string[] = []
  const found = new Map<string, Buffer>()
  for await (const { name, content } of filesOf(file)) {
    if (name !== SUMS && name !== SEALED) lines.push(`${sha256Hex(content)}  ${name}\n`)
    if (RECORDS.test(name)) decode(content)
    else if (KNOWN.has(name)) found.set(name, content)
  }
  const sums = found.get(SUMS)
  const sealedSums = found.get(SEALED)
  if (!sums || !sealedSums) throw damaged('it is incomplete')
  if (sums.toString() !== lines.join('')) throw damaged('its hashes do not match')
  return { meta: parseMeta(found.get(META)), sums, sealedSums }
}

/** Yields the records of a verified snapshot file, in chunks. */
export async function* readSnapshot(file: Buffer): AsyncGenerator<Entry[]> {
  for await (const { name, content } of filesOf(file)) if (RECORDS.test(name)) yield decode(content)
}

async function* filesOf(file: Buffer): AsyncGenerator<TarFile> {
  const gunzip = createGunzip()
  pipeline(Readable.from([file]), gunzip, () => undefined)
  try {
    yield* readTar(gunzip, LIMITS.rpcMessageBytesMax)
  } catch (error) {
    if (error instanceof TarError || isZlibError(error)) throw damaged(error.message)
    throw error
  }
}

const isZlibError = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('Z_')

const decode = (records: Buffer): Entry[] => {
  const entries: Entry[] = []
  let at = 0
  while (at < records.length) {
    if (at + LENGTHS_BYTES > records.length) throw damaged('a record is truncated')
    const keyEnd = at + LENGTHS_BYTES + records.readUInt32BE(at)
    const end = keyEnd + records.readUInt32BE(at + 4)
    if (end > records.length) throw damaged('a record is truncated')
    entries.push({
      key: records.toString('utf8', at + LENGTHS_BYTES, keyEnd),
      value: Buffer.from(records.subarray(keyEnd, end)),
    })
    at = end
  }
  return entries
}

const parseMeta = (content: Buffer | undefined): SnapshotMeta => {
  const meta = content && readMeta(content)
  if (meta?.format !== FORMAT.format) throw damaged('another kind of server created it')
  if (meta.version !== FORMAT.version) throw damaged(`its version ${meta.version} is not supported`)
  const { clusterId, clusterName, index } = meta
  if (typeof clusterId !== 'string' || typeof clusterName !== 'string' || typeof index !== 'number')
    throw damaged('its metadata is incomplete')
  return { clusterId, clusterName, index }
}

const readMeta = (content: Buffer): Partial<SnapshotMeta & { format: string; version: number }> | undefined =>
  attempt(() => (JSON.parse(content.toString()) ?? undefined) as Partial<SnapshotMeta> | undefined)

const damaged = (reason: string) => invalid(`the snapshot cannot be used: ${reason}`)
