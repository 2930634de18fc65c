/** export: the key itself, if its settings allow it. */
import { ed25519PublicBytes, ed25519SeedOf, privateKeyOf, privatePemOf } from '../../crypto/key-pairs.js'
import { type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import { type KeyRecord, typeOf, usableVersions, versionOf } from './key-record.js'
import type { KeyStore } from './key-store.js'
import { publicKeyText } from './key-view.js'

const FIELDS = {
  type: string('encryption-key, signing-key, hmac-key or public-key.'),
  name: string('Name of the key.'),
  version: string('One version, or latest; all that may be used without it.'),
} as const

type ExportType = 'encryption-key' | 'signing-key' | 'hmac-key' | 'public-key'

const TYPES: ReadonlySet<string> = new Set<ExportType>(['encryption-key', 'signing-key', 'hmac-key', 'public-key'])

export const exportPaths = (keys: KeyStore): PathSpec[] => {
  const show = ({ values }: Call<typeof FIELDS>): Response | undefined => {
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
    definePath({
      pattern,
      fields: FIELDS,
      operations: { read: show },
      summary: 'Shows versions of an exportable key.',
    }),
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
