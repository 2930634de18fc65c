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
 * Encodes the metadata of a key as a JSON list of values without names. The list is smaller than an object, and every
 * write of the key writes all of it.
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
 * Decodes the metadata of a key in the current format, or in the format of earlier versions, which is an object. Throws
 * LogicalError `internal` for a record in the format of a later version.
 */
export const decodeMetadata = (bytes: Buffer): KeyMetadata => {
  const stored = JSON.parse(bytes.toString('utf8')) as ListedMetadata | KeyMetadata
  if (!Array.isArray(stored)) return stored
  if (stored[0] !== VERSION) {
    const text = `metadata of a secret has format ${stored[0]} of a later version: upgrade this server`
    throw new LogicalError('internal', text)
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
