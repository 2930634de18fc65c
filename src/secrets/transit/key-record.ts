/** The stored form of a key: one record with all versions, so that a key always replicates as a whole. */
import type { Random } from '../../base/random.js'
import type { MakePrivateKey } from '../../crypto/key-pairs.js'
import { type KeyType, type KeyTypeName, keyTypeOf } from './key-types.js'

interface KeyVersion {
  readonly createdMs: number
  /** In base64: the bytes of a symmetric key, or a private key in PKCS #8. */
  readonly material: string
  /** In base64. */
  readonly hmacKey: string
}

export interface KeyRecord {
  readonly name: string
  readonly type: KeyTypeName
  readonly derived: boolean
  readonly convergent: boolean
  readonly exportable: boolean
  readonly allowPlaintextBackup: boolean
  readonly deletionAllowed: boolean
  readonly minDecryptionVersion: number
  /** 0 means the latest version. */
  readonly minEncryptionVersion: number
  /** 0 if the key has never been trimmed. */
  readonly minAvailableVersion: number
  readonly latestVersion: number
  /** 0 means no automatic rotation. */
  readonly autoRotatePeriodSeconds: number
  /** The versions by number. Versions below `minDecryptionVersion` stay until the key is trimmed. */
  readonly versions: Readonly<Record<string, KeyVersion>>
  readonly backedUp?: BackupEvent
  readonly restored?: BackupEvent
}

/** The last backup of a key, or its restoration. */
export interface BackupEvent {
  readonly ms: number
  /** The latest version of the key at this time. */
  readonly version: number
}

export type KeySettings = Pick<
  KeyRecord,
  'derived' | 'convergent' | 'exportable' | 'allowPlaintextBackup' | 'autoRotatePeriodSeconds'
>

const HMAC_KEY_BYTES = 32

export const typeOf = (record: KeyRecord): KeyType => keyTypeOf(record.type)

export const makeVersion = async (
  type: KeyType,
  { random, makePrivateKey }: { readonly random: Random; readonly makePrivateKey: MakePrivateKey },
  nowMs: number,
): Promise<KeyVersion> => {
  const material = type.form === 'symmetric' ? random.bytes(type.keyBytes) : await makePrivateKey(type.pair)
  return {
    createdMs: nowMs,
    material: material.toString('base64'),
    hmacKey: random.bytes(HMAC_KEY_BYTES).toString('base64'),
  }
}

export const newRecord = (name: string, type: KeyType, settings: KeySettings, first: KeyVersion): KeyRecord => ({
  name,
  type: type.name,
  ...settings,
  deletionAllowed: false,
  minDecryptionVersion: 1,
  minEncryptionVersion: 0,
  minAvailableVersion: 0,
  latestVersion: 1,
  versions: { 1: first },
})

export const withVersion = (record: KeyRecord, version: KeyVersion): KeyRecord => {
  const latestVersion = record.latestVersion + 1
  return { ...record, latestVersion, versions: { ...record.versions, [latestVersion]: version } }
}

/** Returns the version with this number, which the caller must have validated. */
export const versionOf = (record: KeyRecord, number: number): KeyVersion => {
  const version = record.versions[number]
  if (!version) throw new Error(`the record of the transit key has no version ${number}`)
  return version
}

/** Returns the numbers of the versions that can decrypt and verify, oldest first. */
export const usableVersions = (record: KeyRecord): number[] =>
  Object.keys(record.versions)
    .map(Number)
    .filter((number) => number >= record.minDecryptionVersion)
    .sort((a, b) => a - b)
