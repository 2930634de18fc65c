/** Converts keys to the form of responses, without their secrets. */
import { wholeSeconds } from '../../base/duration.js'
import { formatNanoTime } from '../../base/rfc3339.js'
import { ed25519PublicBytes, privateKeyOf, publicPemOf } from '../../crypto/key-pairs.js'
import { privateKeyBytes } from './derivation.js'
import { type BackupEvent, type KeyRecord, typeOf, usableVersions, versionOf } from './key-record.js'

const NO_CONTEXT = Buffer.alloc(0)

export const keyData = (record: KeyRecord, context: Buffer = NO_CONTEXT): Record<string, unknown> => {
  const { encrypts, signs, derives } = typeOf(record)
  return {
    allow_plaintext_backup: record.allowPlaintextBackup,
    auto_rotate_period: wholeSeconds(record.autoRotatePeriodSeconds),
    ...(record.backedUp ? { backup_info: info(record.backedUp) } : {}),
    ...(record.derived ? { convergent_encryption: record.convergent } : {}),
    // The value -1 means that each version of the key has its own version of convergent encryption.
    ...(record.convergent ? { convergent_encryption_version: -1 } : {}),
    deletion_allowed: record.deletionAllowed,
    derived: record.derived,
    exportable: record.exportable,
    imported_key: false,
    ...(record.derived ? { kdf: 'hkdf_sha256' } : {}),
    keys: Object.fromEntries(usableVersions(record).map((number) => [number, versionData(record, number, context)])),
    latest_version: record.latestVersion,
    min_available_version: record.minAvailableVersion,
    min_decryption_version: record.minDecryptionVersion,
    min_encryption_version: record.minEncryptionVersion,
    name: record.name,
    ...(record.restored ? { restore_info: info(record.restored) } : {}),
    supports_decryption: encrypts,
    supports_derivation: derives,
    supports_encryption: encrypts,
    supports_signing: signs,
    type: record.type,
  }
}

const info = ({ ms, version }: BackupEvent) => ({ time: formatNanoTime(ms), version })

const versionData = (record: KeyRecord, number: number, context: Buffer): unknown => {
  const type = typeOf(record)
  const { createdMs } = versionOf(record, number)
  if (type.form === 'symmetric') return Math.trunc(createdMs / 1000)
  return {
    certificate_chain: '',
    creation_time: formatNanoTime(createdMs),
    name: type.shownAs,
    public_key: publicKeyText(record, number, context),
  }
}

/**
 * Returns the public key in PEM format, or in base64 for Ed25519. Returns an empty text for a derived key without a
 * context.
 */
export const publicKeyText = (record: KeyRecord, number: number, context: Buffer): string => {
  if (record.derived && context.length === 0) return ''
  const key = privateKeyOf(privateKeyBytes(record, number, context))
  return record.type === 'ed25519' ? ed25519PublicBytes(key).toString('base64') : publicPemOf(key)
}
