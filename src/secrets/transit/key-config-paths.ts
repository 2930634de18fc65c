/** Endpoints that change a key: its settings and its versions. */
import { type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, duration, int, string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import type { KeyRecord } from './key-record.js'
import { checkRotatePeriod, type KeyStore } from './key-store.js'
import { keyData } from './key-view.js'

const NAME = { name: string('Name of the key.') } as const

const CONFIG_FIELDS = {
  ...NAME,
  min_decryption_version: int('Oldest version that can decrypt and verify.'),
  min_encryption_version: int('Oldest version that can encrypt and sign; 0 means only the latest.'),
  deletion_allowed: bool('Whether the key may be deleted.'),
  exportable: bool('Whether the key can be exported. Cannot be disabled again.'),
  allow_plaintext_backup: bool('Whether a plaintext backup is allowed. Cannot be disabled again.'),
  auto_rotate_period: duration('Age of the latest version at which the key is rotated: 1h or more; 0 means never.'),
} as const

const TRIM_FIELDS = {
  ...NAME,
  min_available_version: int('Versions below this one are deleted permanently.'),
} as const

type ConfigCall = Call<typeof CONFIG_FIELDS>

const FORCED = 'since Vault 0.3, transit key numbering starts at 1; forcing minimum to 1'

export const keyConfigPaths = (keys: KeyStore): PathSpec[] => {
  const configure = async (call: ConfigCall): Promise<Response> => {
    const { values, supplied } = call
    if (supplied('auto_rotate_period')) checkRotatePeriod(values.auto_rotate_period)
    const { name } = values
    const record = await keys.change(name, `no existing key named ${name} could be found`, (before) =>
      configured(before, call),
    )
    const isForced = supplied('min_decryption_version') && values.min_decryption_version === 0
    return { data: keyData(record), ...(isForced ? { warnings: [FORCED] } : {}) }
  }

  const rotate = async ({ values }: Call<typeof NAME>): Promise<Response> => ({
    data: keyData(await keys.rotate(values.name)),
  })

  const trim = async ({ values, supplied }: Call<typeof TRIM_FIELDS>): Promise<undefined> => {
    await keys.change(values.name, 'invalid key name', (record) => {
      if (!supplied('min_available_version')) throw invalid('missing min_available_version')
      return trimmed(record, values.min_available_version)
    })
  }

  return [
    definePath('keys/:name/config', CONFIG_FIELDS, 'Change the settings of a key.', { update: configure }),
    definePath('keys/:name/rotate', NAME, 'Rotate a key: add a new latest version.', { update: rotate }),
    definePath('keys/:name/trim', TRIM_FIELDS, 'Delete old versions of a key permanently.', { update: trim }),
  ]
}

const configured = (record: KeyRecord, { values, supplied }: ConfigCall): KeyRecord => {
  const minimum = (which: 'decryption' | 'encryption', before: number): number => {
    const field = `min_${which}_version` as const
    if (!supplied(field)) return before
    if (values[field] < 0) throw invalid(`min ${which} version cannot be negative`)
    if (values[field] > record.latestVersion) {
      throw invalid(
        `cannot set min ${which} version of ${values[field]}, latest key version is ${record.latestVersion}`,
      )
    }
    return values[field]
  }
  const minDecryptionVersion = Math.max(1, minimum('decryption', record.minDecryptionVersion))
  const minEncryptionVersion = minimum('encryption', record.minEncryptionVersion)
  if (minEncryptionVersion > 0 && minEncryptionVersion < minDecryptionVersion) {
    throw invalid(
      `cannot set min encryption/decryption values; min encryption version of ${minEncryptionVersion} must be greater than or equal to min decryption version of ${minDecryptionVersion}`,
    )
  }
  if (minEncryptionVersion < record.minAvailableVersion) {
    throw invalid('min encryption version should not be less than min available version')
  }
  if (minDecryptionVersion < record.minAvailableVersion) {
    throw invalid('min decryption version should not be less than min available version')
  }
  return {
    ...record,
    minDecryptionVersion,
    minEncryptionVersion,
    deletionAllowed: supplied('deletion_allowed') ? values.deletion_allowed : record.deletionAllowed,
    exportable: record.exportable || values.exportable,
    allowPlaintextBackup: record.allowPlaintextBackup || values.allow_plaintext_backup,
    autoRotatePeriodSeconds: supplied('auto_rotate_period')
      ? values.auto_rotate_period
      : record.autoRotatePeriodSeconds,
  }
}

const trimmed = (record: KeyRecord, minAvailableVersion: number): KeyRecord => {
  const refuse = (why: string) => invalid(`minimum available version ${why}`)
  const { minEncryptionVersion, minDecryptionVersion } = record
  if (minAvailableVersion < record.minAvailableVersion) throw refuse('cannot be decremented')
  if (minEncryptionVersion === 0) throw refuse('cannot be set when minimum encryption version is not set')
  if (minAvailableVersion > minEncryptionVersion) throw refuse('cannot be greater than minimum encryption version')
  if (minAvailableVersion > minDecryptionVersion) throw refuse('cannot be greater than minimum decryption version')
  if (minAvailableVersion === 0) throw refuse('should be positive')
  const kept = Object.entries(record.versions).filter(([number]) => Number(number) >= minAvailableVersion)
  return { ...record, minAvailableVersion, versions: Object.fromEntries(kept) }
}
