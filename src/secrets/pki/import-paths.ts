/** The paths that import keys and the certificates of authorities. */
import { createPrivateKey } from 'node:crypto'
import { attempt } from '../../base/attempt.js'
import { derOf } from '../../crypto/pem.js'
import { type ParsedCertificate, parseCertificate } from '../../crypto/x509-parsing.js'
import { definePath, definePaths, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import { NO_URLS_WARNING } from './authority-fields.js'
import type { Issuance } from './issuance.js'
import { describeKey, type KeyTypeName } from './key-types.js'
import type { IssuerRecord, KeyRecord } from './records.js'

const BUNDLE = {
  pem_bundle: string('Certificates of authorities and their keys in PEM.', '', { isRequired: true, isSecret: true }),
} as const
const CERTIFICATE = { certificate: string('Certificates of authorities in PEM.', '', { isRequired: true }) } as const

/** No certificate or key is shorter, but the path of a file is. */
const MIN_LENGTH = 75

/** Throws LogicalError 400 for a text that is too short. `what` is the beginning of the error text. */
export const requirePem = (text: string, what: string, end = ''): void => {
  if (text.length >= MIN_LENGTH) return
  throw invalid(
    `${what} was too short; perhaps a path was passed to the API rather than the contents of a PEM file${end}`,
  )
}

const IMPORTED = 'provided data for import'
const KEY = {
  pem_bundle: string('A private key in PEM.', '', { isRequired: true, isSecret: true }),
  key_name: string('Name of the key.'),
} as const

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----[^-]+-----END \1-----/g

interface ImportedKey {
  readonly type: KeyTypeName
  /** PKCS 8. */
  readonly material: Buffer
}

/** Parses an unencrypted private key. Throws LogicalError 400 for another text and for an unsupported type. */
const parseKey = (pem: string): ImportedKey => {
  const key = attempt(() => createPrivateKey(pem))
  const kind = key && describeKey(key)
  if (!key || !kind) throw invalid('unable to parse the private key: it must be an unencrypted RSA, EC or Ed25519 key')
  return { type: kind.type, material: key.export({ format: 'der', type: 'pkcs8' }) }
}

const parseAuthority = async (pem: string): Promise<ParsedCertificate> => {
  const parsed = await parseCertificate(derOf(pem)).catch(() => undefined)
  if (!parsed) throw invalid('unable to parse the certificate')
  if (!parsed.isCa) throw invalid(`Error parsing issuer 0: Refusing to import non-CA certificate\n${pem}\n`)
  return parsed
}

/** Returns the certificates and keys of a bundle. Ignores other blocks, such as revocation lists. */
const parseBundle = async (text: string, allowsKeys: boolean) => {
  if (text === '') throw invalid("'pem_bundle' and 'certificate' parameters were empty")
  requirePem(text, IMPORTED)
  const blocks = [...text.matchAll(BLOCK)].map(([pem, label = '']) => ({ pem, label }))
  const keys = blocks.filter(({ label }) => label.endsWith('PRIVATE KEY')).map(({ pem }) => parseKey(pem))
  const certificates = await Promise.all(
    blocks.filter(({ label }) => label === 'CERTIFICATE').map(({ pem }) => parseAuthority(pem)),
  )
  if (keys.length > 0 && !allowsKeys)
    throw invalid('private keys found in the PEM bundle but not allowed by the path; use /issuers/import/bundle')
  if (keys.length + certificates.length === 0) throw invalid('provided PEM block contained no data')
  return { keys, certificates }
}

export const importPaths = ({ authorities, urls }: Issuance): PathSpec[] => {
  const importBundle = (text: string, allowsKeys: boolean): Promise<Response> =>
    authorities.change(async () => {
      const { keys, certificates } = await parseBundle(text, allowsKeys)
      const [newKeys, oldKeys, newIssuers, oldIssuers]: [KeyRecord[], KeyRecord[], IssuerRecord[], IssuerRecord[]] = [
        [],
        [],
        [],
        [],
      ]
      for (const { type, material } of keys) {
        const { record, isNew } = await authorities.draftKey('', type, material)
        const isRepeated = newKeys.some(({ publicHash }) => publicHash === record.publicHash)
        if (!isRepeated) (isNew ? newKeys : oldKeys).push(record)
      }
      for (const certificate of certificates) {
        const { record, isNew } = await authorities.draftIssuer('', certificate, newKeys)
        const isRepeated = newIssuers.some((other) => other.certificate === record.certificate)
        if (!isRepeated) (isNew ? newIssuers : oldIssuers).push(record)
      }
      await authorities.add(newIssuers, newKeys)
      return {
        data: {
          imported_issuers: idsOf(newIssuers),
          imported_keys: idsOf(newKeys),
          mapping: Object.fromEntries([...newIssuers, ...oldIssuers].map(({ id, keyId }) => [id, keyId])),
          existing_issuers: idsOf(oldIssuers),
          existing_keys: idsOf(oldKeys),
        },
        warnings: urls.isMissing() ? [NO_URLS_WARNING] : [],
      }
    })

  return [
    ...definePaths(['config/ca', 'issuers/import/bundle'], BUNDLE, 'Import authorities and keys.', {
      update: ({ values }) => importBundle(values.pem_bundle, true),
    }),
    definePath('issuers/import/cert', BUNDLE, 'Import authorities without keys.', {
      update: ({ values }) => importBundle(values.pem_bundle, false),
    }),
    definePath('intermediate/set-signed', CERTIFICATE, 'Import the certificate of an intermediate.', {
      update: ({ values }) => importBundle(values.certificate, false),
    }),
    definePath('keys/import', KEY, 'Import a private key.', {
      update: ({ values }) =>
        authorities.change(async () => {
          await authorities.keys.checkName(values.key_name)
          requirePem(values.pem_bundle, IMPORTED)
          if (!values.pem_bundle.includes('-----BEGIN ')) throw invalid('provided PEM block contained no data')
          const { type, material } = parseKey(values.pem_bundle)
          const { record, isNew } = await authorities.draftKey(values.key_name, type, material)
          if (isNew) await authorities.add([], [record])
          const warnings = isNew ? [] : ['Key already imported, use key/ endpoint to update name.']
          return { data: keyData(record), warnings }
        }),
    }),
  ]
}

const idsOf = (records: readonly { readonly id: string }[]): string[] | null =>
  records.length > 0 ? records.map(({ id }) => id) : null

export const keyData = ({ id, name, type }: KeyRecord) => ({ key_id: id, key_name: name, key_type: type })
