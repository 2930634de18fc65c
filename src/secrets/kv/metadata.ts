/** The metadata of a key in KV version 2: its versions and its settings. All functions are pure. */
import { lifeMs } from '../../base/duration.js'
import { formatTime } from '../../base/rfc3339.js'
import type { KvConfig } from './config.js'

export interface KeyMetadata {
  createdMs: number
  updatedMs: number
  /** The number of the latest version; 0 if the key has no versions. */
  currentVersion: number
  /** The number of the oldest version; 0 if no version has been removed. */
  oldestVersion: number
  maxVersions: number
  casRequired: boolean
  deleteVersionAfterSeconds: number
  customMetadata: Record<string, string> | null
  versions: Record<string, VersionMetadata>
}

export interface VersionMetadata {
  createdMs: number
  /** Time of deletion, in milliseconds since the epoch. Until that time the version is readable. */
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

/** Returns the lifetime of new versions in seconds: the shorter one of key and mount; 0 means unlimited. */
const lifeOfVersions = (metadata: KeyMetadata, config: KvConfig): number => {
  if (config.deleteVersionAfterSeconds < 0) return 0
  const limits = [metadata.deleteVersionAfterSeconds, config.deleteVersionAfterSeconds].filter((seconds) => seconds > 0)
  return limits.length === 0 ? 0 : Math.min(...limits)
}

export const isReadable = (version: VersionMetadata, nowMs: number): boolean =>
  version.destroyed !== true && (version.deletedMs === undefined || version.deletedMs > nowMs)

/** Returns the metadata of a version as the responses to writes, reads and patches contain it. */
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
