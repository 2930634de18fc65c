/** The parameters of certificate authorities, and what certificates they describe. */
import { type CertificateContent, KEY_USAGES } from '../../crypto/x509-content.js'
import type { MountView } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, commaList, duration, int, type Values } from '../../logical/fields.js'
import { subjectOf } from './leaf-paths.js'
import { parseAltNames, withCommonName } from './name-rules.js'
import { checkFormats, FORMAT_FIELDS, NAME_FIELDS, refuseUnsupported, VALIDITY_FIELDS } from './responses.js'
import { OPEN_ROLE } from './role-paths.js'
import { keyUsageBits } from './usages.js'
import { decideValidity, parseSignatureBits, type Validity } from './validity.js'

export const SUBJECT_FIELDS = {
  ...NAME_FIELDS,
  ou: commaList('Organizational units.'),
  organization: commaList('Organizations.'),
  country: commaList('Countries.'),
  locality: commaList('Localities.'),
  province: commaList('Provinces.'),
  street_address: commaList('Street addresses.'),
  postal_code: commaList('Postal codes.'),
  signature_bits: int('Bits of the hash in RSA signatures: 256, 384 or 512; 0 means 256.'),
  use_pss: bool('RSA keys sign with PSS.'),
  key_usage: commaList('Additional key usages.'),
  ...FORMAT_FIELDS,
} as const

export const CA_FIELDS = {
  ...SUBJECT_FIELDS,
  ...VALIDITY_FIELDS,
  max_path_length: int('Number of intermediates below this authority; -1 means no limit.', -1),
  permitted_dns_domains: commaList('Domains to which the authority is restricted.'),
  not_before_duration: duration('The validity begins this long before the request.', 30),
} as const

type SubjectValues = Values<typeof SUBJECT_FIELDS>
type CaValues = Values<typeof CA_FIELDS>

const NO_URLS_WARNING =
  "This mount hasn't configured any authority information access (AIA) fields; this may make it harder for systems to find missing certificates in the chain or to validate revocation status of certificates. Consider updating /config/urls or the newly generated issuer with this information."

const ZERO_PATH_WARNING =
  'Max path length of the generated certificate is zero. This certificate cannot be used to issue intermediate CA certificates.'

const CA_USAGES = KEY_USAGES.CertSign | KEY_USAGES.CRLSign

/** Returns the warnings about a new authority. */
export const authorityWarnings = (maxPathLength: number | undefined, hasNoUrls: boolean): string[] => [
  ...(maxPathLength === 0 ? [ZERO_PATH_WARNING] : []),
  ...(hasNoUrls ? [NO_URLS_WARNING] : []),
]

/** Decides the validity of an authority, to which the TTLs of the mount apply. */
export const authorityValidity = (values: CaValues, nowMs: number, mount: MountView): Validity =>
  decideValidity({ nowMs, ttl: values.ttl, notAfter: values.not_after, role: OPEN_ROLE, mount })

/** Throws LogicalError 400 for parameters that are invalid or not supported. */
export const checkSubject = (values: SubjectValues): void => {
  checkFormats(values)
  refuseUnsupported(values)
  if (values.common_name === '') throw invalid('the common_name field is required')
}

export const signatureOf = (values: SubjectValues) => ({
  hashBits: parseSignatureBits(values.signature_bits),
  usesPss: values.use_pss,
})

/** Returns the names of a certificate, without usages. */
export const namedContent = (values: SubjectValues): CertificateContent => {
  const { common_name: commonName, serial_number: serialNumber } = values
  const names = parseAltNames(values)
  return {
    subject: subjectOf(values, { commonName, serialNumber, userIds: [] }),
    altNames: values.exclude_cn_from_sans ? names : withCommonName(names, commonName),
    keyUsage: 0,
    extKeyUsage: [],
  }
}

/** Returns the names, usages and name constraints of an authority. */
export const caContent = (values: CaValues): CertificateContent => ({
  ...namedContent(values),
  keyUsage: CA_USAGES | keyUsageBits(values.key_usage),
  permittedDnsDomains: values.permitted_dns_domains.filter((domain) => domain !== ''),
})
