/** The stored form of a key's metadata. */
import { LogicalError } from '../../logical/errors.js'
import type { ReadStorage, Transaction } from '../../logical/storage.js'
import { metadataKey } from './layout.js'
import type { KeyMetadata, VersionMetadata } from './metadata.js'

/** The format version, which is the first element of a record. */
const VERSION = 1

type ListedVersion = [number: string, createdMs: number, deletedMs?: number | null, isDestroyed?: true]

type ListedMetadata = [
  version: number,
  createdMs: number,
  updatedMs: number,
  currentVersion: number,
  oldestVersion: number,
  maxVersions: number,
  casRequired: boolean,
  deleteVersionAfterSeconds: number,
  customMetadata: KeyMetadata['customMetadata'],
  versions: readonly ListedVersion[],
]

export const readMetadata = (storage: ReadStorage, path: string): KeyMetadata | undefined => {
  const stored = path === '' ? undefined : storage.get(metadataKey(path))
  return stored && decodeMetadata(stored)
}

export const putMetadata = (tx: Transaction, path: string, metadata: KeyMetadata): void =>
  tx.put(metadataKey(path), encodeMetadata(metadata))

/**
 * Encodes a key's metadata as a JSON list of values without names, which is smaller: every write of the key writes it in
 * full.
 */
export const encodeMetadata = (metadata: KeyMetadata): Buffer => {
  const list: ListedMetadata = [
    VERSION,
    metadata.createdMs,
    metadata.updatedMs,
    metadata.currentVersion,
    metadata.oldestVersion,
    metadata.maxVersions,
    metadata.casRequired,
    metadata.deleteVersionAfterSeconds,
    metadata.customMetadata,
    Object.entries(metadata.versions).map(listVersion),
  ]
  return Buffer.from(JSON.stringify(list))
}

/**
 * Decodes the current form, and the form of earlier releases: an object with names. Throws LogicalError `internal` for a
 * record of a later format.
 */
export const decodeMetadata = (bytes: Buffer): KeyMetadata => {
  const stored = JSON.parse(bytes.toString('utf8')) as ListedMetadata | KeyMetadata
  if (!Array.isArray(stored)) return stored
  if (stored[0] !== VERSION) {
    throw new LogicalError('internal', `metadata of a secret is stored in format ${stored[0]} of a later version`)
  }
  const versions: KeyMetadata['versions'] = {}
  for (const version of stored[9]) versions[version[0]] = versionOf(version)
  return {
    createdMs: stored[1],
    updatedMs: stored[2],
    currentVersion: stored[3],
    oldestVersion: stored[4],
    maxVersions: stored[5],
    casRequired: stored[6],
    deleteVersionAfterSeconds: stored[7],
    customMetadata: stored[8],
    versions,
  }
}

const listVersion = ([number, { createdMs, deletedMs, destroyed }]: [string, VersionMetadata]): ListedVersion => {
  if (destroyed) return [number, createdMs, deletedMs ?? null, true]
  return deletedMs === undefined ? [number, createdMs] : [number, createdMs, deletedMs]
}

const versionOf = ([, createdMs, deletedMs, isDestroyed]: ListedVersion): VersionMetadata => {
  const version: VersionMetadata = { createdMs }
  if (typeof deletedMs === 'number') version.deletedMs = deletedMs
  if (isDestroyed) version.destroyed = true
  return version
}
