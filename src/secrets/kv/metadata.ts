/** The metadata record of a version 2 key: its versions, and how many to keep. Pure functions. */
import { lifeMs } from '../../base/duration.js'
import { formatTime } from '../../base/rfc3339.js'
import type { KvConfig } from './config.js'

export interface KeyMetadata {
  createdMs: number
  updatedMs: number
  /** 0 if there is no version yet. */
  currentVersion: number
  /** 0 until a version has been removed. */
  oldestVersion: number
  maxVersions: number
  casRequired: boolean
  deleteVersionAfterSeconds: number
  customMetadata: Record<string, string> | null
  versions: Record<string, VersionMetadata>
}

export interface VersionMetadata {
  createdMs: number
  /** May be in the future: the version is readable until then. */
  deletedMs?: number
  destroyed?: true
}

export const newMetadata = (nowMs: number): KeyMetadata => ({
  createdMs: nowMs,
  updatedMs: nowMs,
  currentVersion: 0,
  oldestVersion: 0,
  maxVersions: 0,
  casRequired: false,
  deleteVersionAfterSeconds: 0,
  customMetadata: null,
  versions: {},
})

export const addVersion = (metadata: KeyMetadata, config: KvConfig, nowMs: number): void => {
  const version: VersionMetadata = { createdMs: nowMs }
  const lifeSeconds = lifeOfVersions(metadata, config)
  if (lifeSeconds > 0) version.deletedMs = nowMs + lifeMs(lifeSeconds)
  metadata.currentVersion++
  metadata.versions[metadata.currentVersion] = version
  metadata.updatedMs = nowMs
}

/** Returns the shorter lifetime of key and mount in seconds; 0 means unlimited. */
const lifeOfVersions = (metadata: KeyMetadata, config: KvConfig): number => {
  if (config.deleteVersionAfterSeconds < 0) return 0
  const wishes = [metadata.deleteVersionAfterSeconds, config.deleteVersionAfterSeconds].filter((seconds) => seconds > 0)
  return wishes.length === 0 ? 0 : Math.min(...wishes)
}

export const isReadable = (version: VersionMetadata, nowMs: number): boolean =>
  version.destroyed !== true && (version.deletedMs === undefined || version.deletedMs > nowMs)

/** Returns a version's metadata in the form of write, read and patch responses. */
export const describeVersion = (metadata: KeyMetadata, number: number, version: VersionMetadata) => ({
  created_time: formatTime(version.createdMs),
  custom_metadata: metadata.customMetadata,
  deletion_time: deletionTime(version),
  destroyed: version.destroyed === true,
  version: number,
})

export const describeInList = (version: VersionMetadata) => ({
  created_time: formatTime(version.createdMs),
  deletion_time: deletionTime(version),
  destroyed: version.destroyed === true,
})

const deletionTime = ({ deletedMs }: VersionMetadata): string => (deletedMs === undefined ? '' : formatTime(deletedMs))
