import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { replaceFile } from '../../base/replace-file.js'
import path from 'node:path'
import { readNamedText } from '../../base/named-file.js'
import { makeDirectory } from '../../base/make-directory.js'
import { messageOf } from '../../base/printable.js'
import { createSystemRandom } from '../../base/random.js'
import { checkImage } from '../../server/data/cluster-image.js'
import {
  checkSealedLength,
  keyIdOf,
  openSealedFile,
  readSealedHeader,
  SealedFileError,
  SEAL_KEY_BYTES,
  writeSealedFile,
} from '../../base/sealed-file.js'
import { LabError } from '../model/lab-error.js'
import { makeDirectories } from '../model/lab-directory.js'
import type { LabHost } from '../processes/lab-host.js'
import { keyPath, listSnapshots, SNAPSHOT_SUFFIX, snapshotPath, snapshotsDirectory } from './stored.js'
import { damaged, imageFile, type Manifest, readManifest, validateManifest, writeManifest } from './manifest.js'

/**
 * The unencrypted header of a snapshot file. The keys and data of the lab are encrypted. The decryption key is in a
 * separate file, which only its owner can read.
 */
interface SnapshotHeader {
  readonly format: 'understudy-lab-snapshot'
  readonly version: number
  readonly lab: string
  readonly topology: string
  readonly clusters: readonly string[]
  /** ISO 8601. */
  readonly savedAt: string
  readonly keyId: string
}

const VERSION = 1
/** Maximum size of a snapshot, which is read into one buffer: the limit of buffers in Node.js 20. */
const FILE_BYTES_MAX = 2 ** 31

/** Returns the directory into which this process unpacks snapshots. */
export const openingDirectory = (host: Pick<LabHost, 'me' | 'table'>): string => {
  makeDirectories(snapshotsDirectory())
  return workDirectory(snapshotsDirectory(), host)
}

/** Returns a working directory for this process. Deletes the directories of processes that no longer exist. */
const workDirectory = (place: string, { me, table }: Pick<LabHost, 'me' | 'table'>): string => {
  for (const name of readdirSync(place)) {
    const [, pid] = /^\.understudy-(\d+)$/.exec(name) ?? []
    if (pid !== undefined && !table.find(Number(pid))) rmSync(path.join(place, name), { recursive: true, force: true })
  }
  return path.join(place, `.understudy-${me.pid}`)
}

export interface SaveOptions {
  readonly isForced: boolean
  /** What the error about an existing snapshot suggests. */
  readonly existsHint?: string
}

/**
 * Checks that a snapshot can be written to a file, before the lab is paused: the name is valid and unused, and the
 * directory is writable. Returns a directory for incomplete files, which the caller must delete. Throws LabError
 * `conflict` if the name is in use, and `usage` otherwise.
 */
export const prepareSnapshot = (
  file: string,
  { isForced, existsHint = '--force replaces it' }: SaveOptions,
  host: Pick<LabHost, 'me' | 'table'>,
): string => {
  if (!file.endsWith(SNAPSHOT_SUFFIX))
    throw new LabError('usage', `"${file}" is not a snapshot file: its name must end in ${SNAPSHOT_SUFFIX}`)
  if (existsSync(file) && !isForced) throw new LabError('conflict', `${file} exists; ${existsHint}`)
  const place = path.dirname(file)
  if (place === snapshotsDirectory()) makeDirectories(place)
  try {
    const directory = workDirectory(place, host)
    mkdirSync(directory, { mode: 0o700 })
    return directory
  } catch (error) {
    throw new LabError('usage', `cannot write ${file}: ${messageOf(error)}`)
  }
}

/** Packs an image into a snapshot file on the same disk. Writes the key before the file, both atomically. */
export const packSnapshot = async (directory: string, file: string, signal?: AbortSignal): Promise<void> => {
  const manifest = readManifest(directory)
  const key = createSystemRandom().bytes(SEAL_KEY_BYTES)
  const header: SnapshotHeader = {
    format: 'understudy-lab-snapshot',
    version: VERSION,
    lab: manifest.lab,
    topology: manifest.topology.name,
    clusters: manifest.clusters.map(({ name }) => name),
    savedAt: manifest.savedAt,
    keyId: keyIdOf(key),
  }
  const draft = path.join(directory, 'packed')
  replaceFile(keyPath(draft), `${key.toString('hex')}\n`)
  await writeSealedFile(draft, header, key, pack(directory, manifest))
  signal?.throwIfAborted()
  // A crash between the two renames leaves a key that does not match the file.
  renameSync(keyPath(draft), keyPath(file))
  renameSync(draft, file)
}

async function* pack(directory: string, manifest: Manifest): AsyncGenerator<Buffer> {
  yield* packed(Buffer.from(JSON.stringify(manifest)))
  for (const { name } of manifest.clusters) yield* packed(readFileSync(imageFile(directory, name)))
}

const packed = (bytes: Buffer): readonly Buffer[] => {
  const length = Buffer.alloc(8)
  length.writeBigUInt64BE(BigInt(bytes.length))
  return [length, bytes]
}

/** Reads the header of a snapshot file. Rejects if the file is not a snapshot of this format version. */
export const readSnapshotHeader = async (file: string): Promise<SnapshotHeader> => {
  const found = statSync(file, { throwIfNoEntry: false })
  if (!found) throw missing(file)
  if (!found.isFile()) throw new LabError('usage', `${file} is not a regular file`)
  if (found.size > FILE_BYTES_MAX)
    throw new LabError('usage', `${file} is too large: the limit is ${FILE_BYTES_MAX} bytes`)
  const header = (await readSealedHeader(file).catch((error: unknown) => {
    throw toUsageError(error, file)
  })) as Partial<SnapshotHeader>
  const { lab, topology, savedAt, keyId, clusters } = header
  const texts = [lab, topology, savedAt, keyId, ...(Array.isArray(clusters) ? clusters : [undefined])]
  if (header.format !== 'understudy-lab-snapshot' || !texts.every((text) => typeof text === 'string'))
    throw new LabError('usage', `${file} is not a snapshot of a lab`)
  if (header.version !== VERSION) {
    const which = Number(header.version) > VERSION ? 'a newer' : 'an older'
    throw new LabError(
      'usage',
      `${file} was written by ${which} version of Understudy: its format is ${header.version}, but this version reads only format ${VERSION}`,
    )
  }
  return header as SnapshotHeader
}

/** Removes a snapshot and its key. Rejects with LabError `usage` if the file does not exist or is not a snapshot. */
export const removeSnapshot = async (nameOrFile: string): Promise<string> => {
  const file = snapshotPath(nameOrFile)
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) throw missing(file)
  const isStored = path.dirname(file) === snapshotsDirectory() && file.endsWith(SNAPSHOT_SUFFIX)
  if (!isStored) await readSnapshotHeader(file)
  rmSync(file)
  rmSync(keyPath(file), { force: true })
  return file
}

const missing = (file: string): LabError => {
  const others = listSnapshots()
  const next =
    others.length > 0 ? `existing snapshots: ${others.join(', ')}` : '"understudy snapshot save NAME" creates one'
  return new LabError('usage', `there is no snapshot ${file}; ${next}`)
}

/** Decrypts and validates a snapshot into an empty directory. Deletes the directory on failure. */
export const unpackSnapshot = async (file: string, directory: string): Promise<Manifest> => {
  const header = await readSnapshotHeader(file)
  const key = readKey(file, header)
  rmSync(directory, { recursive: true, force: true })
  makeDirectory(directory, 0o700)
  try {
    const bytes = await openSealedFile(file, key)
    const parts = unpacked(bytes, file)
    const manifest = validateManifest(JSON.parse(String(parts[0])), file)
    for (const [index, { name }] of manifest.clusters.entries()) {
      const part = parts[index + 1]
      if (!part) throw damaged(file, `it has no data of cluster ${name}`)
      replaceFile(imageFile(directory, name), part)
      await checkImage(imageFile(directory, name))
    }
    writeManifest(directory, manifest)
    return manifest
  } catch (error) {
    rmSync(directory, { recursive: true, force: true })
    throw toUsageError(error, file)
  }
}

/** Rejects if a snapshot was truncated or changed. Without the key, detects only some truncations. */
export const checkSnapshot = async (file: string): Promise<'whole' | 'its key is missing'> => {
  const header = await readSnapshotHeader(file)
  try {
    if (!existsSync(keyPath(file))) {
      await checkSealedLength(file)
      return 'its key is missing'
    }
    unpacked(await openSealedFile(file, readKey(file, header)), file)
    return 'whole'
  } catch (error) {
    throw toUsageError(error, file)
  }
}

const unpacked = (bytes: Buffer, file: string): Buffer[] => {
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + 8 > bytes.length ? Infinity : at + 8 + Number(bytes.readBigUInt64BE(at))
    if (end > bytes.length) throw damaged(file, 'it is truncated')
    parts.push(bytes.subarray(at + 8, end))
    at = end
  }
  return parts
}

const readKey = (file: string, { keyId }: SnapshotHeader): Buffer => {
  const place = keyPath(file)
  if (!existsSync(place))
    throw new LabError(
      'usage',
      `the key of ${file} is missing: copy the file ${path.basename(place)} to the directory of the snapshot`,
    )
  const key = Buffer.from(readNamedText(place).trim(), 'hex')
  if (key.length === SEAL_KEY_BYTES && keyIdOf(key) === keyId) return key
  throw new LabError('usage', `${place} is not the key of ${file}: the files belong to different snapshots`)
}

const FAULTS = {
  'not-sealed': 'is not a snapshot of a lab',
  'ends-early': 'is damaged: it is truncated',
  wrong: 'is damaged: its content was changed',
} as const

/** Converts an error about the content of a file to a LabError `usage`. Returns other errors unchanged. */
const toUsageError = (error: unknown, file: string): unknown => {
  if (error instanceof SealedFileError) return new LabError('usage', `${file} ${FAULTS[error.fault]}`, { cause: error })
  if (error instanceof Error && error.name === 'LogicalError')
    return new LabError('usage', error.message, { cause: error })
  const isOfContent = error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError
  return isOfContent ? new LabError('usage', `${file} is damaged: ${error.message}`, { cause: error }) : error
}
