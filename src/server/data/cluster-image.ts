import path from 'node:path'
import { createHash } from 'node:crypto'
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { attempt } from '../../base/attempt.js'
import { replaceFileBy } from '../../base/replace-file.js'
import { invalid, type LogicalError } from '../../logical/errors.js'
import type { Engine, Entry } from '../../storage/engine/engine.js'
import { generationDirectory, readGenerationRecord } from '../../storage/engine/generation-record.js'
import { LevelEngine } from '../../storage/engine/level-engine.js'
import { APPLIED_KEY } from '../../storage/keys/raw-keys.js'
import { readState } from '../../storage/commit/load.js'

/**
 * The state that lab commands have set, as part of a cluster image. A cluster image is a file with the complete state
 * of a cluster at one point in time. The file contains, in this order:
 *
 * - one line of JSON with the format and the `ImageState`
 * - the records of the engine: length of key and value (32 bits each, big endian), key, value
 * - an empty record
 * - the SHA-256 of all preceding bytes
 *
 * Values are the stored ciphertext, so they cannot be read without the keys of the cluster.
 */
export interface ImageState {
  readonly skewMs: number
  readonly holds: readonly { readonly kind: string; readonly state: string }[]
  readonly isSealed: boolean
}

/**
 * Names of image files in the data directory. The server writes `IMAGE_OUT` for the lab. The lab writes `IMAGE_IN`,
 * which the server loads.
 */
export const IMAGE_OUT = 'lab-image.out'
export const IMAGE_IN = 'lab-image.in'

export interface ImageFacts {
  readonly sha256: string
  readonly bytes: number
}

const FORMAT = { format: 'understudy-cluster-image', version: 1 } as const
/**
 * Maximum clock offset of a server in milliseconds (ten years). With a larger offset, dates may be invalid or have more
 * than four digits in the year.
 */
export const SKEW_MS_MAX = 10 * 365 * 24 * 3_600_000
const LENGTHS_BYTES = 8
const HASH_BYTES = 32
const HEADER_BYTES_MAX = 64 * 1024
const PART_BYTES = 1024 * 1024
const BATCH_BYTES = 1024 * 1024

export type { Entry } from '../../storage/engine/engine.js'

export type Chunks = AsyncIterable<readonly Entry[]>

async function* encode(state: ImageState, chunks: Chunks): AsyncGenerator<Buffer> {
  yield Buffer.from(`${JSON.stringify({ ...FORMAT, ...state })}\n`)
  for await (const chunk of chunks) {
    const parts: Buffer[] = []
    for (const { key, value } of chunk) {
      const name = Buffer.from(key)
      parts.push(lengthsOf(name.length, value.length), name, value)
    }
    yield Buffer.concat(parts)
  }
  yield lengthsOf(0, 0)
}

const lengthsOf = (key: number, value: number): Buffer => {
  const lengths = Buffer.alloc(LENGTHS_BYTES)
  lengths.writeUInt32BE(key, 0)
  lengths.writeUInt32BE(value, 4)
  return lengths
}

/** Writes an image file atomically. Only its owner can read the file. */
export const writeImage = (file: string, state: ImageState, chunks: Chunks): Promise<ImageFacts> =>
  replaceFileBy(file, async (handle) => {
    const hash = createHash('sha256')
    let bytes = 0
    for await (const part of encode(state, chunks)) {
      hash.update(part)
      bytes += part.length
      await handle.write(part)
    }
    const digest = hash.digest()
    await handle.write(digest)
    return { sha256: digest.toString('hex'), bytes: bytes + HASH_BYTES }
  })

/**
 * Writes an image into an empty engine. Skips the applied position of the shared log, which belongs to an earlier
 * shared log.
 */
export const fillEngine = async (engine: Engine, chunks: Chunks): Promise<void> => {
  let batch = engine.batch()
  let bytes = 0
  for await (const chunk of chunks) {
    for (const { key, value } of chunk) {
      if (key === APPLIED_KEY) continue
      batch.put(key, value)
      bytes += key.length + value.length
      if (bytes < BATCH_BYTES) continue
      await batch.write({ isDurable: false })
      batch = engine.batch()
      bytes = 0
    }
  }
  await batch.write({ isDurable: true })
  const state = readState(engine)
  if (state) engine.acknowledge({ revision: state.revision, index: state.last.index })
}

/**
 * Creates the image of a cluster whose server is stopped or suspended. Reads a copy of the files, so that the files do
 * not change.
 */
export const imageOfStopped = async (dataDir: string, file: string): Promise<ImageFacts> => {
  const state: ImageState = { skewMs: 0, holds: [], isSealed: true }
  const record = await readGenerationRecord(dataDir)
  if (record?.live === undefined) return writeImage(file, state, eachOf([]))
  const copy = await mkdtemp(`${file}.copy-`)
  try {
    const from = generationDirectory(dataDir, record.live)
    for (const name of await readdir(from)) {
      if (name !== 'LOCK') await cp(path.join(from, name), path.join(copy, name))
    }
    const engine = await LevelEngine.open({ directory: copy, createIfMissing: false })
    try {
      return await writeImage(file, state, engine.scan({}))
    } finally {
      await engine.discard()
    }
  } finally {
    await rm(copy, { recursive: true, force: true })
  }
}

/**
 * Reads and verifies a whole image file, so that an invalid image changes nothing. Rejects with `LogicalError` if the
 * file is missing, invalid or incomplete.
 */
export const checkImage = async (file: string): Promise<{ readonly state: ImageState; readonly chunks: Chunks }> => {
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' ? invalid(`there is no image ${file}`) : error
  })
  const start = bytes.subarray(0, HEADER_BYTES_MAX).indexOf('\n') + 1
  const state = parseHeader(bytes.subarray(0, start))
  if (!state) throw invalid(`${file} is not a cluster image`)
  if (state.version !== FORMAT.version) throw invalid(`${file} has the unknown version ${state.version}`)
  const damaged = (reason: string) => invalid(`${file} is damaged: ${reason}`)
  for (const _ of decode(bytes, start, damaged));
  return { state, chunks: eachOf(decode(bytes, start, damaged)) }
}

async function* eachOf(chunks: Iterable<readonly Entry[]>): AsyncGenerator<readonly Entry[]> {
  yield* chunks
}

function* decode(bytes: Buffer, start: number, damaged: (reason: string) => LogicalError): Generator<readonly Entry[]> {
  let at = start
  const take = (count: number): Buffer => {
    if (at + count > bytes.length) throw damaged('it is truncated')
    at += count
    return bytes.subarray(at - count, at)
  }
  let chunk: Entry[] = []
  let size = 0
  for (;;) {
    const lengths = take(LENGTHS_BYTES)
    const [keyBytes, valueBytes] = [lengths.readUInt32BE(0), lengths.readUInt32BE(4)]
    if (keyBytes === 0) break
    const both = take(keyBytes + valueBytes)
    chunk.push({ key: both.toString('utf8', 0, keyBytes), value: Buffer.from(both.subarray(keyBytes)) })
    size += both.length
    if (size < PART_BYTES) continue
    yield chunk
    chunk = []
    size = 0
  }
  const expected = createHash('sha256').update(bytes.subarray(0, at)).digest()
  if (!take(HASH_BYTES).equals(expected)) throw damaged('its hash does not match')
  if (at < bytes.length) throw damaged('it has extra bytes at the end')
  yield chunk
}

const parseHeader = (line: Buffer | undefined): (ImageState & { readonly version: number }) | undefined =>
  attempt(() => {
    const header = JSON.parse(String(line)) as ImageState & { format: string; version: number }
    const { format, skewMs, holds, isSealed } = header
    const isState =
      Number.isFinite(skewMs) &&
      Math.abs(skewMs) <= SKEW_MS_MAX &&
      Array.isArray(holds) &&
      holds.every(({ kind, state }) => typeof kind === 'string' && typeof state === 'string') &&
      typeof isSealed === 'boolean'
    return format === FORMAT.format && isState ? header : undefined
  })
