/** The paths that issue certificates for roles: issue, sign and sign-verbatim. */
import type { KeyObject } from 'node:crypto'
import { type MakePrivateKey, privateKeyOf } from '../../crypto/key-pairs.js'
import type { CertificateContent } from '../../crypto/x509-content.js'
import { type Call, definePaths, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, commaList, int, string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import type { Issuance } from './issuance.js'
import { pairOf } from './key-types.js'
import { checkKey, contentOf, namesOf, overriddenWarnings, readRequest } from './leaf-content.js'
import { checkNames } from './name-rules.js'
import type { IssuerRecord } from './records.js'
import {
  CHAIN_FIELDS,
  checkFormat,
  FORMAT_FIELDS,
  issuedData,
  NAME_FIELDS,
  type NewKey,
  VALIDITY_FIELDS,
} from './responses.js'
import type { Tidy } from './tidy.js'
import { OPEN_ROLE, type Role, type Roles } from './role-paths.js'
import { checkUsageOids, extKeyUsageOids, keyUsageBits } from './usages.js'
import { decideValidity, limitToIssuer, parseSignatureBits } from './validity.js'

const ISSUE_FIELDS = {
  role: string('Name of the role.'),
  issuer_ref: string('Issuer, if it is part of the path: `default`, an ID or a name.'),
  ...NAME_FIELDS,
  user_ids: commaList('User IDs of the subject.'),
  ...VALIDITY_FIELDS,
  ...FORMAT_FIELDS,
  ...CHAIN_FIELDS,
  cert_metadata: string('Not supported: metadata of the certificate.'),
} as const

const SIGN_FIELDS = { ...ISSUE_FIELDS, csr: string('Signing request in PEM.', '', { isRequired: true }) } as const

const VERBATIM_FIELDS = {
  ...SIGN_FIELDS,
  key_usage: commaList('Key usages, unless the signing request has some.'),
  ext_key_usage: commaList('Extended key usages, unless the signing request has some.'),
  ext_key_usage_oids: commaList('Object identifiers of extended key usages.'),
  signature_bits: int('Bits of the hash in signatures of RSA issuers: 256, 384 or 512; 0 means 256.'),
  use_pss: bool('RSA issuers sign with PSS.'),
} as const

type IssueCall = Pick<Call<typeof ISSUE_FIELDS>, 'path' | 'values'>

/** Paths at which the issuer of the role is used, so that a caller cannot choose another one. */
const OF_ROLE = /^(?:issue|sign|sign-verbatim)\//

const withIssuer = (pattern: string): string[] => [pattern, `issuer/:issuer_ref/${pattern}`]

interface LeafOrder {
  readonly role: Role
  readonly issuer: IssuerRecord
  readonly content: CertificateContent
  readonly publicKey: KeyObject
  /** The new key, which the response contains. */
  readonly privateKey?: NewKey
  readonly warnings?: readonly string[]
}

interface LeafPathsOptions {
  readonly issuance: Issuance
  readonly roles: Roles
  readonly makePrivateKey: MakePrivateKey
  readonly tidy: Tidy
}

export const leafPaths = ({ issuance, roles, makePrivateKey, tidy }: LeafPathsOptions): PathSpec[] => {
  const { authorities } = issuance
  const { clock, mount } = authorities.context

  const issuerOf = ({ path, values }: IssueCall, role: Role): Promise<IssuerRecord> =>
    issuance.requireIssuer((!OF_ROLE.test(path) && values.issuer_ref) || role.issuer_ref)

  /** Signs a certificate for a role. */
  const order = async (
    { values }: IssueCall,
    { role, issuer, content, publicKey, privateKey, warnings = [] }: LeafOrder,
  ): Promise<Response> => {
    const { ttl, not_after: notAfter } = values
    const validity = decideValidity({ nowMs: clock.now(), ttl, notAfter, role, mount })
    const issued = await issuance.sign(issuer, {
      content,
      publicKey,
      notBeforeSeconds: role.not_before_duration,
      notAfterMs: limitToIssuer(validity.notAfterMs, issuer.notAfterMs, issuer.leafNotAfterBehavior),
      signature: { hashBits: parseSignatureBits(role.signature_bits), usesPss: role.use_pss },
      isStored: !role.no_store,
    })
    tidy.startIfDue()
    const chain = await authorities.chainOf(issuer)
    const ttlSeconds = Math.max(1, Math.floor((issued.notAfterMs - clock.now()) / 1000))
    return {
      data: issuedData(issued, { ...values, chain, privateKey, chainForm: 'issuers' }),
      warnings: [...warnings, ...validity.warnings],
      ...(role.generate_lease &&
        !role.no_store && { lease: { ttlSeconds, isRenewable: false, internal: { serial: issued.serial } } }),
    }
  }

  return [
    ...definePaths(withIssuer('issue/:role'), ISSUE_FIELDS, 'Issue a certificate with a new key.', {
      update: async (call) => {
        const { values } = call
        checkRequest(values)
        const role = roles.requireFor(call)
        if (role.key_type === 'any')
          throw invalid('role key type "any" not allowed for issuing certificates, only signing')
        const issuer = await issuerOf(call, role)
        const names = namesOf(role, values)
        checkNames(role, names)
        const { type, pair } = pairOf(role.key_type, role.key_bits)
        const key = privateKeyOf(await makePrivateKey(pair))
        const content = contentOf(role, names)
        return order(call, { role, issuer, content, publicKey: key, privateKey: { key, type } })
      },
    }),
    ...definePaths(withIssuer('sign/:role'), SIGN_FIELDS, 'Sign a signing request with the names of the role.', {
      update: async (call) => {
        const { values } = call
        checkRequest(values)
        const role = roles.requireFor(call)
        const issuer = await issuerOf(call, role)
        const request = await readRequest(values.csr)
        checkKey(role, request.publicKey)
        const names = namesOf(role, values, request)
        checkNames(role, names)
        const warnings = overriddenWarnings(role, values)
        const { publicKey } = request
        return order(call, { role, issuer, content: contentOf(role, names), publicKey, warnings })
      },
    }),
    ...definePaths(
      [...withIssuer('sign-verbatim'), ...withIssuer('sign-verbatim/:role')],
      VERBATIM_FIELDS,
      'Sign a signing request unchanged. It never becomes a certificate authority.',
      {
        update: async (call) => {
          const { values, supplied } = call
          checkRequest(values)
          const base = verbatimRole(values.role === '' ? OPEN_ROLE : roles.require(values.role))
          const role = { ...base, signature_bits: values.signature_bits, use_pss: values.use_pss }
          const issuer = await issuerOf(call, role)
          const request = await readRequest(values.csr)
          checkKey(role, request.publicKey)
          const usages = supplied('key_usage') ? values.key_usage : OPEN_ROLE.key_usage
          checkUsageOids(values.ext_key_usage_oids)
          const content: CertificateContent = {
            subject: request.subject,
            altNames: [],
            keyUsage: keyUsageBits(usages),
            extKeyUsage: extKeyUsageOids(values),
            copied: request.extensions.filter(({ type }) => !NOT_COPIED.has(type)),
          }
          return order(call, { role, issuer, content, publicKey: request.publicKey })
        },
      },
    ),
  ]
}

/** The extensions that only the issuer decides: basic constraints, and the identifiers of the keys. */
const NOT_COPIED: ReadonlySet<string> = new Set(['2.5.29.19', '2.5.29.14', '2.5.29.35'])

/** Returns the settings of a role that apply to sign-verbatim. */
const verbatimRole = (role: Role): Role => ({
  ...OPEN_ROLE,
  ttl: role.ttl,
  max_ttl: role.max_ttl,
  issuer_ref: role.issuer_ref,
  no_store: role.no_store,
  generate_lease: role.generate_lease,
  not_before_duration: role.not_before_duration,
})

const checkRequest = (values: IssueCall['values']): void => {
  checkFormat(values)
  if (values.cert_metadata !== '')
    throw invalid('cert_metadata is not supported by this server: remove it from the request')
}
