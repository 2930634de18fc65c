/** The paths that create certificate authorities: roots, signing requests of intermediates, and their certificates. */
import type { MakePrivateKey } from '../../crypto/key-pairs.js'
import { requestPem } from '../../crypto/pem.js'
import type { CertificateContent } from '../../crypto/x509-content.js'
import { parseCertificate } from '../../crypto/x509-parsing.js'
import { createSigningRequest } from '../../crypto/x509-signing.js'
import { type Call, definePath, definePaths, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, int, string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import {
  authorityValidity,
  authorityWarnings,
  CA_FIELDS,
  caContent,
  namedContent,
  requestWarnings,
  signatureOf,
  SUBJECT_FIELDS,
} from './authority-fields.js'
import type { Issuance } from './issuance.js'
import { createKey } from './key-paths.js'
import { DEFAULT_REFERENCE } from './named-records.js'
import { keyObjectOf, type KeyRecord } from './records.js'
import { checkFormat, issuedData, privateKeyData } from './responses.js'
import { algorithmName } from './revocation-algorithms.js'
import { keyUsageBits } from './usages.js'

const KEY_FIELDS = {
  type: string('Where the key comes from: internal, exported or existing.'),
  key_name: string('Name of the new key.'),
  key_ref: string('Existing key: `default`, an ID or a name.', DEFAULT_REFERENCE),
  key_type: string('Type of the new key: rsa, ec or ed25519.', 'rsa'),
  key_bits: int('Number of bits of the new key; 0 means the default of the type.'),
} as const

const ROOT_FIELDS = { ...CA_FIELDS, ...KEY_FIELDS, issuer_name: string('Name of the issuer.') } as const

const INTERMEDIATE_FIELDS = {
  ...SUBJECT_FIELDS,
  ...KEY_FIELDS,
  add_basic_constraints: bool('The signing request asks for an authority.'),
} as const

const NO_KEY = 'failed to lookup public key from existing key: '
const UNKNOWN_SOURCE = 'the "exported" path parameter must be "internal", "existing", exported" or "kms"'

interface AuthorityPathsOptions {
  readonly issuance: Issuance
  readonly makePrivateKey: MakePrivateKey
}

const DELETED_ALL =
  'DELETE /root deletes all keys and issuers; prefer the new DELETE /key/:key_ref and DELETE /issuer/:issuer_ref for finer granularity, unless removal of all keys and issuers is desired.'

interface ObtainedKey {
  readonly record: KeyRecord
  readonly isNew: boolean
  readonly isExported: boolean
}

export const authorityPaths = ({ issuance, makePrivateKey }: AuthorityPathsOptions): PathSpec[] => {
  const { authorities, urls } = issuance
  const { context } = authorities

  /** Returns the key that a request selects or creates. Does not store it. */
  const obtainKey = async ({ values }: Pick<Call<typeof KEY_FIELDS>, 'values'>): Promise<ObtainedKey> => {
    if (values.type === 'existing') {
      return { record: await authorities.keys.requireNamed(values.key_ref, NO_KEY), isNew: false, isExported: false }
    }
    if (values.type === 'kms') throw invalid('managed keys are not supported by this server: use internal or exported')
    if (values.type !== 'internal' && values.type !== 'exported') throw invalid(UNKNOWN_SOURCE)
    const record = await createKey(authorities, makePrivateKey, values)
    return { record, isNew: true, isExported: values.type === 'exported' }
  }

  const exportedKey = ({ record, isExported }: ObtainedKey) =>
    isExported ? { key: keyObjectOf(record), type: record.type } : undefined

  const generateRoot = (call: Pick<Call<typeof ROOT_FIELDS>, 'values'>, defaultName = ''): Promise<Response> =>
    authorities.change(async () => {
      const { values } = call
      checkFormat(values)
      const name = values.issuer_name || defaultName
      await authorities.issuers.checkName(name)
      const obtained = await obtainKey(call)
      const key = keyObjectOf(obtained.record)
      const maxPathLength = values.max_path_length < 0 ? undefined : values.max_path_length
      const validity = authorityValidity(values, context.clock.now(), context.mount)
      const content = { ...caContent(values), basicConstraints: { isCa: true, maxPathLength } }
      const issued = await issuance.signSelf(
        {
          content,
          publicKey: key,
          notBeforeSeconds: values.not_before_duration,
          notAfterMs: validity.notAfterMs,
          signature: signatureOf(values),
          isStored: true,
        },
        key,
      )
      const certificate = await parseCertificate(issued.der)
      const drafted = await authorities.draftIssuer(name, certificate, [obtained.record])
      const record = { ...drafted.record, revocationAlgorithm: algorithmName(key, signatureOf(values)) }
      await authorities.add([record], obtained.isNew ? [obtained.record] : [])
      return {
        data: {
          ...issuedData(issued, { ...values, chain: [record], privateKey: exportedKey(obtained) }),
          issuer_id: record.id,
          issuer_name: record.name,
          key_id: obtained.record.id,
          key_name: obtained.record.name,
        },
        warnings: authorityWarnings({ content, maxPathLength, hasNoUrls: urls.isMissing(), verb: 'generated' }),
      }
    })

  const generateIntermediate = (call: Pick<Call<typeof INTERMEDIATE_FIELDS>, 'values'>): Promise<Response> =>
    authorities.change(async () => {
      const { values } = call
      checkFormat(values)
      const obtained = await obtainKey(call)
      const content: CertificateContent = {
        ...namedContent(values),
        keyUsage: keyUsageBits(values.key_usage),
        basicConstraints: values.add_basic_constraints ? { isCa: true } : undefined,
      }
      const key = keyObjectOf(obtained.record)
      const der = await createSigningRequest(content, { key, ...signatureOf(values) })
      if (obtained.isNew) await authorities.add([], [obtained.record])
      const csr = values.format === 'der' ? der.toString('base64') : requestPem(der).trim()
      const shown = privateKeyData(exportedKey(obtained), values)
      const isBundle = values.format === 'pem_bundle' && shown.private_key !== undefined
      return {
        data: { csr: isBundle ? `${shown.private_key}\n${csr}` : csr, key_id: obtained.record.id, ...shown },
        warnings: requestWarnings(urls.isMissing()),
      }
    })

  return [
    ...definePaths(['root/generate/:type', 'issuers/generate/root/:type'], ROOT_FIELDS, 'Create a self-signed root.', {
      update: (call) => generateRoot(call),
    }),
    definePath('root/rotate/:type', ROOT_FIELDS, 'Create a root with the name `next`.', {
      update: (call) => generateRoot(call, 'next'),
    }),
    definePath('root', {}, 'Delete all issuers and keys.', {
      delete: () =>
        authorities.change(async () => {
          await authorities.deleteAll()
          return { warnings: [DELETED_ALL] }
        }),
    }),
    ...definePaths(
      ['intermediate/generate/:type', 'issuers/generate/intermediate/:type'],
      INTERMEDIATE_FIELDS,
      'Create a signing request for an intermediate.',
      { update: generateIntermediate },
    ),
    definePath('intermediate/cross-sign', INTERMEDIATE_FIELDS, 'Create a signing request with an existing key.', {
      update: ({ values }) => generateIntermediate({ values: { ...values, type: 'existing' } }),
    }),
  ]
}
