/** keys: create, read, list and delete. */
import { type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, duration, int, string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import { decodeBase64 } from './batch.js'
import type { KeyStore } from './key-store.js'
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
  key_size: int('Rejected: it applies only to keys of type hmac, which are not supported.'),
} as const

type KeyCall = Call<typeof FIELDS>

export const keyPaths = (keys: KeyStore): PathSpec[] => {
  const create = async ({ values }: KeyCall): Promise<Response> => {
    const type = parseKeyType(values.type)
    if (values.key_size !== 0) throw invalid(`key_size is not valid for algorithm ${type.name}`)
    const { record, isNew } = await keys.create(values.name, type, {
      derived: values.derived,
      convergent: values.convergent_encryption,
      exportable: values.exportable,
      allowPlaintextBackup: values.allow_plaintext_backup,
      autoRotatePeriodSeconds: values.auto_rotate_period,
    })
    const response: Response = { data: keyData(record) }
    return isNew ? response : { ...response, warnings: [`key ${values.name} already existed`] }
  }

  const read = ({ values }: KeyCall): Response | undefined => {
    const record = keys.find(values.name)
    return record && { data: keyData(record, decodeBase64(values.context)) }
  }

  const list = async (): Promise<Response> => ({ data: { keys: await keys.names() } })

  return [
    definePath('keys/?', {}, 'List the keys.', { list }),
    definePath(
      'keys/:name',
      FIELDS,
      'Create a key, read its public properties, or delete it if its settings allow it.',
      { update: create, read, delete: ({ values }) => keys.remove(values.name) },
    ),
  ]
}

const EXPORT_FIELDS = {
  type: string('Type of the export: encryption-key, signing-key, hmac-key or public-key.'),
  name: string('Name of the key.'),
  version: string('A version, or `latest`. Default: all usable versions.'),
} as const

type ExportType = 'encryption-key' | 'signing-key' | 'hmac-key' | 'public-key'

const TYPES: ReadonlySet<string> = new Set<ExportType>(['encryption-key', 'signing-key', 'hmac-key', 'public-key'])

export const exportPaths = (keys: KeyStore): PathSpec[] => {
  const show = ({ values }: Call<typeof EXPORT_FIELDS>): Response | undefined => {
    if (!TYPES.has(values.type)) throw invalid(`invalid export type: ${values.type}`)
    const type = values.type as ExportType
    const record = keys.find(values.name)
    if (!record) return undefined
    checkExport(record, type)
    const numbers = values.version === '' ? usableVersions(record) : [parseVersion(record, values.version)]
    const shown = numbers.map((number) => [number, exported(record, number, type)])
    return { data: { keys: Object.fromEntries(shown), name: record.name, type: record.type } }
  }
  return (['export/:type/:name', 'export/:type/:name/:version'] as const).map((pattern) =>
    definePath(pattern, EXPORT_FIELDS, 'Export versions of an exportable key.', { read: show }),
  )
}

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
  if (record.type !== 'ed25519') return privatePemOf(key).trim()
  return Buffer.concat([ed25519SeedOf(bytes), ed25519PublicBytes(key)]).toString('base64')
}
