/** The parameters of certificate authorities, and what certificates they describe. */
import { type CertificateContent, hasSubject, KEY_USAGES } from '../../crypto/x509-content.js'
import type { MountView } from '../../logical/backend.js'
import { bool, commaList, duration, int, type Values } from '../../logical/fields.js'
import { subjectOf } from './leaf-content.js'
import { inOrder, parseAltNames, withCommonName } from './name-rules.js'
import { requestedOtherNames } from './other-sans.js'
import { FORMAT_FIELDS, NAME_FIELDS, VALIDITY_FIELDS } from './responses.js'
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

export const NO_URLS_WARNING =
  "This mount hasn't configured any authority information access (AIA) fields; this may make it harder for systems to find missing certificates in the chain or to validate revocation status of certificates. Consider updating /config/urls or the newly generated issuer with this information."

/** Returns the warning about a signing request. */
export const requestWarnings = (hasNoUrls: boolean): string[] =>
  hasNoUrls
    ? [
        `${NO_URLS_WARNING} Since this certificate is an intermediate, it might be useful to regenerate this certificate after fixing this problem for the root mount.`,
      ]
    : []

const CA_USAGES = KEY_USAGES.CertSign | KEY_USAGES.CRLSign

interface AuthorityFacts {
  readonly content: CertificateContent
  readonly maxPathLength: number | undefined
  readonly hasNoUrls: boolean
  /** The text refers to the certificate with this word. */
  readonly verb: 'generated' | 'signed'
}

/** Returns the warnings about a new authority. */
export const authorityWarnings = ({ content, maxPathLength, hasNoUrls, verb }: AuthorityFacts): string[] => [
  ...(hasSubject(content) ? [] : [NO_SUBJECT_WARNING]),
  ...(hasNoUrls ? [NO_URLS_WARNING] : []),
  ...(maxPathLength === 0
    ? [
        `Max path length of the ${verb} certificate is zero. This certificate cannot be used to issue intermediate CA certificates.`,
      ]
    : []),
]

const NO_SUBJECT_WARNING =
  'This issuer certificate was generated without a Subject; this makes it likely that issuing leaf certs with this certificate will cause TLS validation libraries to reject this certificate.'

/** Decides the validity of an authority, to which the TTLs of the mount apply. */
export const authorityValidity = (values: CaValues, nowMs: number, mount: MountView): Validity =>
  decideValidity({ nowMs, ttl: values.ttl, notAfter: values.not_after, role: OPEN_ROLE, mount })

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
    altNames: inOrder(values.exclude_cn_from_sans ? names : withCommonName(names, commonName)),
    otherNames: requestedOtherNames(values.other_sans),
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
