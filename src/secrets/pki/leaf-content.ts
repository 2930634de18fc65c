/** The names, subjects and usages of the certificates of roles. */
import type { KeyObject } from 'node:crypto'
import { messageOf } from '../../base/printable.js'
import { otherNamesIn } from '../../crypto/other-names.js'
import { ALT_NAMES, type CertificateContent, type SubjectFields } from '../../crypto/x509-content.js'
import { parseSigningRequest } from '../../crypto/x509-parsing.js'
import { explaining, invalid } from '../../logical/errors.js'
import type { Values } from '../../logical/fields.js'
import { describeKey, parseKeyBits } from './key-types.js'
import { inOrder, parseAltNames, type RequestedNames, withCommonName } from './name-rules.js'
import { requestedOtherNames } from './other-sans.js'
import type { NAME_FIELDS } from './responses.js'
import type { Role } from './role-paths.js'
import { extKeyUsageOids, keyUsageBits } from './usages.js'

export type Request = Awaited<ReturnType<typeof parseSigningRequest>>

/** Parses a signing request. Rejects with LogicalError 400 for any other text. */
export const readRequest = async (csr: string): Promise<Request> => {
  if (csr === '') throw invalid('"csr" is empty')
  if (!csr.includes('-----BEGIN ')) throw invalid('csr contains no data')
  try {
    return await parseSigningRequest(csr)
  } catch (error) {
    throw invalid(`certificate request could not be parsed: ${messageOf(error)}`)
  }
}

/** Throws LogicalError 400 if the role does not allow the key of a signing request. */
export const checkKey = (role: Role, key: KeyObject): void => {
  const found = describeKey(key)
  if (!found) throw invalid('the key of the signing request has an unsupported type: use RSA, EC or Ed25519')
  const { type, bits } = found
  if (role.key_type !== 'any' && role.key_type !== type) throw invalid(`role requires keys of type ${role.key_type}`)
  const atLeast = role.key_type === 'any' ? MIN_BITS[type] : parseKeyBits(role.key_type, role.key_bits)
  if (bits < atLeast) throw invalid(`role requires a minimum of a ${atLeast}-bit key, but CSR's key is ${bits} bits`)
}

const MIN_BITS = { rsa: 2048, ec: 224, ed25519: 0 } as const

type NameValues = Values<typeof NAME_FIELDS> & { readonly user_ids: readonly string[] }

/** Returns the names of a request: of the signing request, if the role says so, or else of the parameters. */
export const namesOf = (role: Role, values: NameValues, request?: Request): RequestedNames => {
  const own = request && role.use_csr_common_name ? request.commonName : ''
  const commonName = own || values.common_name
  if (commonName === '' && role.require_cn) {
    throw invalid(
      'the common_name field is required, or must be provided in a CSR with "use_csr_common_name" set to true, unless "require_cn" is set to false',
    )
  }
  const takesNames = request !== undefined && role.use_csr_sans
  const given = takesNames ? [...request.altNames] : parseAltNames(values)
  const userIds = values.user_ids.filter((id) => id !== '')
  return {
    commonName,
    serialNumber: values.serial_number || request?.serialNumber || '',
    userIds: userIds.length > 0 ? userIds : (request?.userIds ?? []),
    altNames: inOrder(values.exclude_cn_from_sans ? given : withCommonName(given, commonName)),
    otherNames: [...requestedOtherNames(values.other_sans), ...(takesNames ? otherNamesOf(request) : [])],
  }
}

/** Returns the other names of a signing request. Throws LogicalError 400 for one that is not a text. */
const otherNamesOf = ({ extensions }: Request) => {
  const names = extensions.find(({ type }) => type === ALT_NAMES)
  return names ? explaining('could not parse requested other SAN', () => otherNamesIn(names.value)) : []
}

/** Returns the warnings about parameters that the signing request overrides. */
export const overriddenWarnings = (role: Role, values: NameValues): string[] => [
  ...(values.common_name !== '' && role.use_csr_common_name
    ? ['the common_name field was provided but the role is set with "use_csr_common_name" set to true']
    : []),
  ...(values.alt_names.length > 0 && role.use_csr_sans
    ? ['the alt_names field was provided but the role is set with "use_csr_sans" set to true']
    : []),
]

export const contentOf = (role: Role, names: RequestedNames): CertificateContent => ({
  subject: subjectOf(role, names),
  altNames: names.altNames,
  otherNames: names.otherNames,
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
  { commonName, serialNumber, userIds }: Pick<RequestedNames, 'commonName' | 'serialNumber' | 'userIds'>,
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
