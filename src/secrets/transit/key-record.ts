/** A key as it is stored: all its versions in one record, so that a copy of it is whole or not there. */
import type { Random } from '../../base/random.js'
import type { MakePrivateKey } from '../../crypto/key-pairs.js'
import { type KeyType, type KeyTypeName, keyTypeOf } from './key-types.js'

interface KeyVersion {
  readonly createdMs: number
  /** Base64: the bytes of a symmetric key, or a private key as PKCS 8. */
  readonly material: string
  /** Base64. */
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
  /** 0 = the latest, whatever it is. */
  readonly minEncryptionVersion: number
  /** 0 = nothing was trimmed. */
  readonly minAvailableVersion: number
  readonly latestVersion: number
  /** 0 = by hand alone. */
  readonly autoRotatePeriodSeconds: number
  /** By number, those below `minDecryptionVersion` too until they are trimmed. */
  readonly versions: Readonly<Record<string, KeyVersion>>
  readonly restoredMs?: number
}

export type KeySettings = Pick<
  KeyRecord,
  'derived' | 'convergent' | 'exportable' | 'allowPlaintextBackup' | 'autoRotatePeriodSeconds'
>

const HMAC_KEY_BYTES = 32

export const typeOf = (record: KeyRecord): KeyType => keyTypeOf(record.type)

interface Maker {
  readonly random: Random
  readonly makePrivateKey: MakePrivateKey
}

export const makeVersion = async (
  type: KeyType,
  { random, makePrivateKey }: Maker,
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

/** The version of that number, which the caller has found to be one of the key. */
export const versionOf = (record: KeyRecord, number: number): KeyVersion => {
  const version = record.versions[number]
  if (!version) throw new Error(`the record of a transit key lacks its version ${number}`)
  return version
}

/** Numbers of the versions that may still decrypt and verify, the oldest first. */
export const usableVersions = (record: KeyRecord): number[] =>
  Object.keys(record.versions)
    .map(Number)
    .filter((number) => number >= record.minDecryptionVersion)
    .sort((a, b) => a - b)
