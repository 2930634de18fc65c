/** The paths that issue certificates for roles: issue, sign and sign-verbatim. */
import type { KeyObject } from 'node:crypto'
import { messageOf } from '../../base/printable.js'
import { type MakePrivateKey, privateKeyOf } from '../../crypto/key-pairs.js'
import type { CertificateContent, SubjectFields } from '../../crypto/x509-content.js'
import { parseSigningRequest } from '../../crypto/x509-parsing.js'
import { type Call, definePaths, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, commaList, int, string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import type { Issuance } from './issuance.js'
import { describeKey, pairOf, parseKeyBits } from './key-types.js'
import { checkNames, parseAltNames, type RequestedNames, withCommonName } from './name-rules.js'
import {
  CHAIN_FIELDS,
  checkFormats,
  FORMAT_FIELDS,
  issuedData,
  NAME_FIELDS,
  type NewKey,
  refuseUnsupported,
  VALIDITY_FIELDS,
} from './responses.js'
import { OPEN_ROLE, type Role, type Roles } from './role-paths.js'
import { extKeyUsageOids, keyUsageBits, parseOids } from './usages.js'
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
type Request = Awaited<ReturnType<typeof parseSigningRequest>>

/** Paths at which the issuer of the role is used, so that a caller cannot choose another one. */
const OF_ROLE = /^(?:issue|sign|sign-verbatim)\//

const withIssuer = (pattern: string): string[] => [pattern, `issuer/:issuer_ref/${pattern}`]

interface LeafOrder {
  readonly role: Role
  readonly content: CertificateContent
  readonly publicKey: KeyObject
  /** The new key, which the response contains. */
  readonly privateKey?: NewKey
}

interface LeafPathsOptions {
  readonly issuance: Issuance
  readonly roles: Roles
  readonly makePrivateKey: MakePrivateKey
}

export const leafPaths = ({ issuance, roles, makePrivateKey }: LeafPathsOptions): PathSpec[] => {
  const { authorities } = issuance
  const { clock, mount } = authorities.context

  /** Signs a certificate for a role. */
  const order = async (
    { path, values }: IssueCall,
    { role, content, publicKey, privateKey }: LeafOrder,
  ): Promise<Response> => {
    const issuer = await authorities.issuers.require((!OF_ROLE.test(path) && values.issuer_ref) || role.issuer_ref)
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
    const chain = await authorities.chainOf(issuer)
    const ttlSeconds = Math.max(1, Math.floor((issued.notAfterMs - clock.now()) / 1000))
    return {
      data: issuedData(issued, { ...values, chain, privateKey, showsChain: true }),
      warnings: validity.warnings,
      ...(role.generate_lease &&
        !role.no_store && { lease: { ttlSeconds, isRenewable: false, internal: { serial: issued.serial } } }),
    }
  }

  return [
    ...definePaths(withIssuer('issue/:role'), ISSUE_FIELDS, 'Issue a certificate with a new key.', {
      update: async (call) => {
        const { values } = call
        checkRequest(values)
        const role = roles.require(values.role)
        if (role.key_type === 'any')
          throw invalid('role key type "any" not allowed for issuing certificates, only signing')
        const names = namesOf(role, values)
        checkNames(role, names)
        const { type, pair } = pairOf(role.key_type, role.key_bits)
        const key = privateKeyOf(await makePrivateKey(pair))
        return order(call, { role, content: contentOf(role, names), publicKey: key, privateKey: { key, type } })
      },
    }),
    ...definePaths(withIssuer('sign/:role'), SIGN_FIELDS, 'Sign a signing request with the names of the role.', {
      update: async (call) => {
        const { values } = call
        checkRequest(values)
        const role = roles.require(values.role)
        const request = await readRequest(values.csr)
        checkKey(role, request.publicKey)
        const names = namesOf(role, values, request)
        checkNames(role, names)
        return order(call, { role, content: contentOf(role, names), publicKey: request.publicKey })
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
          const request = await readRequest(values.csr)
          checkKey(role, request.publicKey)
          const usages = supplied('key_usage') ? values.key_usage : OPEN_ROLE.key_usage
          parseOids('ext_key_usage_oids', values.ext_key_usage_oids)
          const content: CertificateContent = {
            subject: request.subject,
            altNames: [],
            keyUsage: keyUsageBits(usages),
            extKeyUsage: extKeyUsageOids(values),
            copied: request.extensions.filter(({ type }) => !NOT_COPIED.has(type)),
          }
          return order(call, { role, content, publicKey: request.publicKey })
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
  checkFormats(values)
  refuseUnsupported(values)
}

/** Parses a signing request. Rejects with LogicalError 400 for any other text. */
export const readRequest = async (csr: string): Promise<Request> => {
  if (csr === '') throw invalid('"csr" is empty')
  try {
    return await parseSigningRequest(csr)
  } catch (error) {
    throw invalid(`certificate request could not be parsed: ${messageOf(error)}`)
  }
}

/** Throws LogicalError 400 if the role does not allow the key of a signing request. */
const checkKey = (role: Role, key: KeyObject): void => {
  const found = describeKey(key)
  if (!found) throw invalid('the key of the signing request has an unsupported type: use RSA, EC or Ed25519')
  const { type, bits } = found
  if (role.key_type !== 'any' && role.key_type !== type) throw invalid(`role requires keys of type ${role.key_type}`)
  const atLeast = role.key_type === 'any' ? MIN_BITS[type] : parseKeyBits(role.key_type, role.key_bits)
  if (bits < atLeast) throw invalid(`role requires a minimum of a ${atLeast}-bit key, but CSR's key is ${bits} bits`)
}

const MIN_BITS = { rsa: 2048, ec: 224, ed25519: 0 } as const

/** Returns the names of a request: of the signing request, if the role says so, or else of the parameters. */
const namesOf = (role: Role, values: IssueCall['values'], request?: Request): RequestedNames => {
  const own = request && role.use_csr_common_name ? request.commonName : ''
  const commonName = own || values.common_name
  if (commonName === '' && role.require_cn) {
    throw invalid(
      'the common_name field is required, or must be provided in a CSR with "use_csr_common_name" set to true, unless "require_cn" is set to false',
    )
  }
  const given = request && role.use_csr_sans ? [...request.altNames] : parseAltNames(values)
  return {
    commonName,
    serialNumber: (request && role.use_csr_common_name ? request.serialNumber : '') || values.serial_number,
    userIds: values.user_ids.filter((id) => id !== ''),
    altNames: values.exclude_cn_from_sans ? given : withCommonName(given, commonName),
  }
}

const contentOf = (role: Role, names: RequestedNames): CertificateContent => ({
  subject: subjectOf(role, names),
  altNames: names.altNames,
  keyUsage: keyUsageBits(role.key_usage),
  extKeyUsage: extKeyUsageOids(role),
  basicConstraints: role.basic_constraints_valid_for_non_ca ? { isCa: false } : undefined,
  policies: role.policy_identifiers,
})

type SubjectLists = Pick<
  Role,
  'country' | 'organization' | 'ou' | 'locality' | 'province' | 'street_address' | 'postal_code'
>

export const subjectOf = (
  lists: SubjectLists,
  { commonName, serialNumber, userIds }: Omit<RequestedNames, 'altNames'>,
): SubjectFields => ({
  country: lists.country,
  organization: lists.organization,
  ou: lists.ou,
  locality: lists.locality,
  province: lists.province,
  streetAddress: lists.street_address,
  postalCode: lists.postal_code,
  commonName,
  serialNumber,
  userIds,
})
