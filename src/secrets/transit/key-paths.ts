/** The paths of keys: create, read, list, delete, export and configure. */
import { type Call, definePath, definePaths, listed, type PathSpec, sentBy, shown } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, duration, int, string } from '../../logical/fields.js'
import { decodeContext } from './batch.js'
import { checkRotatePeriod, type KeyStore } from './key-store.js'
import { DEFAULT_KEY_TYPE, parseKeyType } from './key-types.js'
import { keyData, publicKeyText } from './key-view.js'
import { ed25519PublicBytes, ed25519SeedOf, privateKeyOf, privatePemOf } from '../../crypto/key-pairs.js'
import { type KeyRecord, typeOf, usableVersions, versionOf } from './key-record.js'

const FIELDS = {
  name: string('Name of the key.'),
  type: string('Type of the key.', DEFAULT_KEY_TYPE),
  derived: bool('Derives a separate key for each context. Each request must contain a context.'),
  convergent_encryption: bool('The same plaintext in the same context has the same ciphertext. Requires `derived`.'),
  exportable: bool('Whether the key can be exported. Can be enabled later, but not disabled again.'),
  allow_plaintext_backup: bool('Whether a plaintext backup is allowed. Can be enabled later, but not disabled again.'),
  auto_rotate_period: duration('Age of the latest version at which the key is rotated: 1h or more; 0 means never.'),
  context: string('Context in base64: a read returns the public keys of a derived key in this context.'),
  key_size: int('Rejected: applies only to keys of type hmac, which are not supported.'),
} as const

export const keyPaths = (keys: KeyStore): PathSpec[] => [
  definePath('keys/?', {}, 'List the keys.', { list: () => listed(keys.names()) }),
  definePath('keys/:name', FIELDS, 'Create a key, read its public properties, or delete it if its settings allow it.', {
    update: async ({ values }) => {
      const type = parseKeyType(values.type)
      if (values.key_size !== 0) throw invalid(`key_size is not valid for algorithm ${type.name}`)
      const record = await keys.create(values.name, type, {
        derived: values.derived,
        convergent: values.convergent_encryption,
        exportable: values.exportable,
        allowPlaintextBackup: values.allow_plaintext_backup,
        autoRotatePeriodSeconds: values.auto_rotate_period,
      })
      return { data: keyData(record) }
    },
    read: ({ values }) => shown(keys.find(values.name), (key) => keyData(key, decodeContext(values.context))),
    delete: ({ values }) => keys.remove(values.name),
  }),
]

const EXPORT_FIELDS = {
  type: string('Type of the export: encryption-key, signing-key, hmac-key or public-key.'),
  name: string('Name of the key.'),
  version: string('A version, or `latest`. Default: all usable versions.'),
} as const

type ExportType = 'encryption-key' | 'signing-key' | 'hmac-key' | 'public-key'

const TYPES: ReadonlySet<string> = new Set<ExportType>(['encryption-key', 'signing-key', 'hmac-key', 'public-key'])

export const exportPaths = (keys: KeyStore): PathSpec[] =>
  definePaths(
    ['export/:type/:name', 'export/:type/:name/:version'],
    EXPORT_FIELDS,
    'Export versions of an exportable key.',
    {
      read: ({ values }) => {
        if (!TYPES.has(values.type)) throw invalid(`invalid export type: ${values.type}`)
        const type = values.type as ExportType
        const record = keys.find(values.name)
        if (!record) return undefined
        checkExport(record, type)
        const numbers = values.version === '' ? usableVersions(record) : [parseVersion(record, values.version)]
        const versions = numbers.map((number) => [number, exported(record, number, type)])
        return { data: { keys: Object.fromEntries(versions), name: record.name, type: record.type } }
      },
    },
  )

const checkExport = (record: KeyRecord, type: ExportType): void => {
  const { encrypts, signs, form } = typeOf(record)
  if (!record.exportable && type !== 'public-key') throw invalid('private key material is not exportable')
  if (type === 'encryption-key' && !encrypts) throw invalid('encryption not supported for the key')
  if (type === 'signing-key' && !signs) throw invalid('signing not supported for the key')
  if (type === 'public-key' && form !== 'pair') {
    throw invalid(`unknown key type ${record.type} for export type public-key`)
  }
}

const parseVersion = (record: KeyRecord, text: string): number => {
  if (text === 'latest') return record.latestVersion
  const number = Number(text.replace(/^v/, ''))
  if (!Number.isInteger(number)) throw invalid('invalid key version')
  if (number < record.minDecryptionVersion) throw invalid('version for export is below minimum decryption version')
  if (!record.versions[number]) throw invalid('version does not exist or cannot be found')
  return number
}

const exported = (record: KeyRecord, number: number, type: ExportType): string => {
  const { material, hmacKey } = versionOf(record, number)
  if (type === 'hmac-key') return hmacKey
  if (type === 'public-key') return publicKeyText(record, number, Buffer.alloc(0)).trim()
  if (typeOf(record).form === 'symmetric') return material
  const bytes = Buffer.from(material, 'base64')
  const key = privateKeyOf(bytes)
  if (typeOf(record).encrypts) return privatePemOf(key)
  if (record.type !== 'ed25519') return privatePemOf(key).trim()
  return Buffer.concat([ed25519SeedOf(bytes), ed25519PublicBytes(key)]).toString('base64')
}

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
  min_available_version: int('Oldest version to keep. Older versions are deleted permanently.'),
} as const

type ConfigCall = Call<typeof CONFIG_FIELDS>

const FORCED = 'since Vault 0.3, transit key numbering starts at 1; forcing minimum to 1'

export const keyConfigPaths = (keys: KeyStore): PathSpec[] => [
  definePath('keys/:name/config', CONFIG_FIELDS, 'Change the settings of a key.', {
    update: async (call) => {
      const { values, supplied } = call
      if (supplied('auto_rotate_period')) checkRotatePeriod(values.auto_rotate_period)
      const { name } = values
      const record = await keys.change(name, `no existing key named ${name} could be found`, (before) =>
        configured(before, call),
      )
      const isForced = supplied('min_decryption_version') && values.min_decryption_version === 0
      return { data: keyData(record), ...(isForced ? { warnings: [FORCED] } : {}) }
    },
  }),
  definePath('keys/:name/rotate', NAME, 'Rotate a key: add a new latest version.', {
    update: async ({ values }) => ({ data: keyData(await keys.rotate(values.name)) }),
  }),
  definePath('keys/:name/trim', TRIM_FIELDS, 'Delete old versions of a key permanently.', {
    update: async ({ values, supplied }) => {
      const record = await keys.change(values.name, 'invalid key name', (before) => {
        if (!supplied('min_available_version')) throw invalid('missing min_available_version')
        return trimmed(before, values.min_available_version)
      })
      return { data: keyData(record) }
    },
  }),
]

const configured = (record: KeyRecord, call: ConfigCall): KeyRecord => {
  const { values } = call
  const sent = sentBy(call)
  const minimum = (which: 'decryption' | 'encryption', before: number): number => {
    const value = sent(`min_${which}_version`)
    if (value === undefined) return before
    if (value < 0) throw invalid(`min ${which} version cannot be negative`)
    if (value > record.latestVersion) {
      throw invalid(`cannot set min ${which} version of ${value}, latest key version is ${record.latestVersion}`)
    }
    return value
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
    throw invalid('min decryption version should not be less then min available version')
  }
  return {
    ...record,
    minDecryptionVersion,
    minEncryptionVersion,
    deletionAllowed: sent('deletion_allowed') ?? record.deletionAllowed,
    exportable: record.exportable || values.exportable,
    allowPlaintextBackup: record.allowPlaintextBackup || values.allow_plaintext_backup,
    autoRotatePeriodSeconds: sent('auto_rotate_period') ?? record.autoRotatePeriodSeconds,
  }
}

const trimmed = (record: KeyRecord, minAvailableVersion: number): KeyRecord => {
  const refuse = (why: string) => invalid(`minimum available version ${why}`)
  const { minEncryptionVersion, minDecryptionVersion } = record
  if (minAvailableVersion < record.minAvailableVersion) throw refuse('cannot be decremented')
  if (minEncryptionVersion === 0) throw refuse('cannot be set when minimum encryption version is not set')
  if (minAvailableVersion > minEncryptionVersion) throw refuse('cannot be greater than minmum encryption version')
  if (minAvailableVersion > minDecryptionVersion) throw refuse('cannot be greater than minimum decryption version')
  if (minAvailableVersion === 0) throw refuse('should be positive')
  const remaining = Object.entries(record.versions).filter(([number]) => Number(number) >= minAvailableVersion)
  return { ...record, minAvailableVersion, versions: Object.fromEntries(remaining) }
}
