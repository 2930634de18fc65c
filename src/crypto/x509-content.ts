/** The names and extensions of certificates, from and to the certificate library. */
import type { loadX509 } from './certificates.js'
import { encodeDer } from './der.js'
import { type OtherName, withOtherNames } from './other-names.js'

export type Library = Awaited<ReturnType<typeof loadX509>>

/** The values of each attribute of a subject. The order of the attributes is that of Go. */
export interface SubjectFields {
  readonly country: readonly string[]
  readonly organization: readonly string[]
  readonly ou: readonly string[]
  readonly locality: readonly string[]
  readonly province: readonly string[]
  readonly streetAddress: readonly string[]
  readonly postalCode: readonly string[]
  readonly commonName: string
  readonly serialNumber: string
  readonly userIds: readonly string[]
}

export interface AltName {
  readonly type: 'dns' | 'email' | 'ip' | 'url'
  readonly value: string
}

export interface RawExtension {
  /** An object identifier. */
  readonly type: string
  readonly critical: boolean
  readonly value: Buffer
}

/** The content of a certificate or of a signing request. */
export interface CertificateContent {
  /** Fields, or the DER of a whole name. */
  readonly subject: SubjectFields | Buffer
  readonly altNames: readonly AltName[]
  readonly otherNames?: readonly OtherName[]
  /** Bits of `KEY_USAGES`; 0 for no extension. */
  readonly keyUsage: number
  /** Object identifiers. */
  readonly extKeyUsage: readonly string[]
  /** If absent, the certificate has no basic constraints. */
  readonly basicConstraints?: { readonly isCa: boolean; readonly maxPathLength?: number | undefined } | undefined
  /** In hex. By default, computed from the public key. */
  readonly subjectKeyId?: string
  readonly issuingCertificates?: readonly string[]
  readonly crlDistributionPoints?: readonly string[]
  readonly ocspServers?: readonly string[]
  /** Object identifiers. */
  readonly policies?: readonly string[]
  readonly permittedDnsDomains?: readonly string[]
  /** Extensions that are used unchanged. Each replaces the extension of its type. */
  readonly copied?: readonly RawExtension[]
}

/** The key usages by their names in Go. The bits are those of the certificate library. */
export const KEY_USAGES = {
  DigitalSignature: 1,
  ContentCommitment: 2,
  KeyEncipherment: 4,
  DataEncipherment: 8,
  KeyAgreement: 16,
  CertSign: 32,
  CRLSign: 64,
  EncipherOnly: 128,
  DecipherOnly: 256,
} as const

const ATTRIBUTES = [
  ['country', '2.5.4.6'],
  ['organization', '2.5.4.10'],
  ['ou', '2.5.4.11'],
  ['locality', '2.5.4.7'],
  ['province', '2.5.4.8'],
  ['streetAddress', '2.5.4.9'],
  ['postalCode', '2.5.4.17'],
  ['commonName', '2.5.4.3'],
  ['serialNumber', '2.5.4.5'],
  ['userIds', '0.9.2342.19200300.100.1.1'],
] as const

/** The characters of a PrintableString. All other texts are UTF8Strings. */
const PRINTABLE = /^[A-Za-z0-9 '()+,\-./:=?]*$/

const attributeOf = (text: string) => (PRINTABLE.test(text) ? { printableString: text } : { utf8String: text })

/** Sorts the values of a set by their DER: the kind of string, then the length, then the bytes. */
const inSetOrder = (values: readonly string[]): string[] => {
  const keyOf = (value: string) => {
    const bytes = Buffer.from(value)
    const length = Buffer.alloc(4)
    length.writeUInt32BE(bytes.length)
    return Buffer.concat([Buffer.from([PRINTABLE.test(value) ? 1 : 0]), length, bytes])
  }
  return [...new Set(values)].sort((a, b) => Buffer.compare(keyOf(a), keyOf(b)))
}

/** Returns the name. Each attribute is one relative name with all its values, as in Go, and each user ID is one. */
export const nameOf = (x509: Library, subject: SubjectFields | Buffer) => {
  if (Buffer.isBuffer(subject)) return new x509.Name(Uint8Array.from(subject))
  const relative = ATTRIBUTES.flatMap(([field, id]) => {
    const given = subject[field]
    const values = typeof given === 'string' ? [given] : given
    const shown = values.filter((value) => value !== '')
    if (field === 'userIds') return shown.map((value) => ({ [id]: [attributeOf(value)] }))
    return shown.length === 0 ? [] : [{ [id]: inSetOrder(shown).map(attributeOf) }]
  })
  return new x509.Name(relative)
}

interface KeyIds {
  readonly subjectKeyId: string
  readonly authorityKeyId: string
}

/** Returns the extensions in the order of Go. Signing requests have no key identifiers. */
export const extensionsOf = (x509: Library, content: CertificateContent, ids?: KeyIds) => {
  const { basicConstraints: basic, copied = [] } = content
  const ocsp = urlsOf(content.ocspServers)
  const caIssuers = urlsOf(content.issuingCertificates)
  const access = { ...(ocsp && { ocsp }), ...(caIssuers && { caIssuers }) }
  const crls = urlsOf(content.crlDistributionPoints)
  const domains = content.permittedDnsDomains ?? []
  const made = [
    content.keyUsage !== 0 && new x509.KeyUsagesExtension(content.keyUsage, true),
    content.extKeyUsage.length > 0 && new x509.ExtendedKeyUsageExtension([...content.extKeyUsage]),
    basic && new x509.BasicConstraintsExtension(basic.isCa, basic.maxPathLength, true),
    ids && new x509.SubjectKeyIdentifierExtension(ids.subjectKeyId),
    ids && new x509.AuthorityKeyIdentifierExtension(ids.authorityKeyId),
    (ocsp || caIssuers) && new x509.AuthorityInfoAccessExtension(access),
    namesExtension(x509, content),
    content.policies?.length && new x509.CertificatePolicyExtension([...content.policies]),
    domains.length > 0 && new x509.Extension(NAME_CONSTRAINTS, true, permittedDomains(domains)),
    crls && new x509.CRLDistributionPointsExtension(crls),
  ].filter((extension) => typeof extension === 'object')
  const own = made.filter(({ type }) => !copied.some((other) => other.type === type))
  return [...own, ...copied.map(({ type, critical, value }) => new x509.Extension(type, critical, value))]
}

/** Returns the extension with all alternative names; false without names. */
const namesExtension = (x509: Library, content: CertificateContent) => {
  const { altNames, otherNames = [] } = content
  const isCritical = !hasSubject(content)
  const usual = altNames.length > 0 && new x509.SubjectAlternativeNameExtension([...altNames], isCritical)
  if (otherNames.length === 0) return usual
  const value = withOtherNames(otherNames, usual ? Buffer.from(usual.value) : undefined)
  return new x509.Extension(ALT_NAMES, isCritical, value)
}

/** The object identifier of the extension with alternative names. */
export const ALT_NAMES = '2.5.29.17'

const urlsOf = (urls: readonly string[] = []) => (urls.length > 0 ? [...urls] : undefined)

/** Returns true if the subject has a name. Without one, RFC 5280 requires critical alternative names. */
export const hasSubject = ({ subject }: Pick<CertificateContent, 'subject'>): boolean =>
  Buffer.isBuffer(subject) ? subject.length > 2 : Object.values(subject).some((value) => value.length > 0)

const NAME_CONSTRAINTS = '2.5.29.30'

/** Returns the DER of name constraints that permit only these domains. */
const permittedDomains = (domains: readonly string[]): Buffer =>
  encodeDer(0x30, [
    encodeDer(
      0xa0,
      domains.map((domain) => encodeDer(0x30, [encodeDer(0x82, [Buffer.from(domain)])])),
    ),
  ])
