/** The record that version 2 keeps about a key beside its data: its versions, and how many are kept. Pure functions. */
import { lifeMs } from '../../base/duration.js'
import { formatTime } from '../../base/rfc3339.js'
import type { KvConfig } from './config.js'

export interface KeyMetadata {
  createdMs: number
  updatedMs: number
  /** 0 before the first version. */
  currentVersion: number
  /** 0 until a version was dropped. */
  oldestVersion: number
  maxVersions: number
  casRequired: boolean
  deleteVersionAfterSeconds: number
  customMetadata: Record<string, string> | null
  versions: Record<string, VersionMetadata>
}

export interface VersionMetadata {
  createdMs: number
  /** May lie in the future: the version is readable until then. */
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

/** Enters the next version into `metadata`. */
export const addVersion = (metadata: KeyMetadata, config: KvConfig, nowMs: number): void => {
  const version: VersionMetadata = { createdMs: nowMs }
  const lifeSeconds = lifeOfVersions(metadata, config)
  if (lifeSeconds > 0) version.deletedMs = nowMs + lifeMs(lifeSeconds)
  metadata.currentVersion++
  metadata.versions[metadata.currentVersion] = version
  metadata.updatedMs = nowMs
}

/** The shorter of what key and mount say, in seconds; 0 is forever. */
const lifeOfVersions = (metadata: KeyMetadata, config: KvConfig): number => {
  if (config.deleteVersionAfterSeconds < 0) return 0
  const wishes = [metadata.deleteVersionAfterSeconds, config.deleteVersionAfterSeconds].filter((seconds) => seconds > 0)
  return wishes.length === 0 ? 0 : Math.min(...wishes)
}

export const isReadable = (version: VersionMetadata, nowMs: number): boolean =>
  version.destroyed !== true && (version.deletedMs === undefined || version.deletedMs > nowMs)

/** A version as the answers to its write, read and patch describe it. */
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
