/** What an auth method reads from the certificates of clients. */
import { X509Certificate } from 'node:crypto'
import type { SubjectAlternativeNameExtension, X509Certificate as Parsed } from '@peculiar/x509'
import { attempt } from '../base/attempt.js'
import { loadX509 } from './certificates.js'
import { publicHashOf } from './key-pairs.js'
import { type NameConstraints, parseNameConstraints } from './name-constraints.js'

export interface CertificateFacts {
  readonly certificate: X509Certificate
  /** Empty without a common name. */
  readonly commonName: string
  readonly organizationalUnits: readonly string[]
  readonly dnsNames: readonly string[]
  readonly emailAddresses: readonly string[]
  readonly uris: readonly string[]
  readonly addresses: readonly string[]
  /** In decimal. */
  readonly serialNumber: string
  /** In hex with colons; empty without the extension. */
  readonly subjectKeyId: string
  readonly authorityKeyId: string
  /** Identifies the public key, also without a subject key identifier. */
  readonly keyId: string
  /** The DER of the extensions by object identifier. */
  readonly extensions: ReadonlyMap<string, Buffer>
  /** Maximum number of intermediate certificates below this one; undefined means no limit. */
  readonly pathLength: number | undefined
  /** Which names the certificates below may have; undefined without constraints. */
  readonly nameConstraints: NameConstraints | undefined
  /** Why no chain may contain the certificate; undefined if it has no such property. */
  readonly defect: string | undefined
}

/** Parses certificates in DER. Rejects with an error if one is invalid. */
export const readCertificates = async (ders: readonly Buffer[]): Promise<CertificateFacts[]> => {
  const x509 = await loadX509()
  return ders.map((der) => {
    const parsed = new x509.X509Certificate(der)
    const certificate = new X509Certificate(der)
    const names = parsed.getExtension(x509.SubjectAlternativeNameExtension)
    const subjectKeyId = colons(parsed.getExtension(x509.SubjectKeyIdentifierExtension)?.keyId)
    return {
      certificate,
      commonName: parsed.subjectName.getField('CN')[0] ?? '',
      organizationalUnits: parsed.subjectName.getField('OU'),
      dnsNames: namesOf(names, 'dns'),
      emailAddresses: namesOf(names, 'email'),
      uris: namesOf(names, 'url'),
      addresses: namesOf(names, 'ip'),
      nameConstraints: constraintsOf(parsed),
      serialNumber: decimal(certificate.serialNumber),
      subjectKeyId,
      authorityKeyId: colons(parsed.getExtension(x509.AuthorityKeyIdentifierExtension)?.keyId),
      keyId: subjectKeyId || publicHashOf(certificate.publicKey),
      extensions: new Map(parsed.extensions.map(({ type, value }) => [type, Buffer.from(value)])),
      pathLength: parsed.getExtension(x509.BasicConstraintsExtension)?.pathLength,
      defect: defectOf(parsed),
    }
  })
}

const decimal = (hex: string): string => BigInt(`0x${hex}`).toString()

const colons = (hex = ''): string => hex.match(/../g)?.join(':').toLowerCase() ?? ''

const namesOf = (extension: SubjectAlternativeNameExtension | null, type: string): string[] =>
  extension?.names.items.filter((name) => name.type === type).map(({ value }) => value) ?? []

/**
 * Critical extensions that chains are checked against, or that have no meaning here: subject and issuer alternative
 * names, key usages, basic constraints, name constraints, distribution points and policies.
 */
const KNOWN_CRITICAL: ReadonlySet<string> = new Set([15, 17, 18, 19, 30, 31, 32, 37].map((id) => `2.5.29.${id}`))

const NAME_CONSTRAINTS = '2.5.29.30'

/** Returns the name constraints of a certificate. Throws for malformed constraints. */
const constraintsOf = ({ extensions }: Parsed): NameConstraints | undefined => {
  const extension = extensions.find(({ type }) => type === NAME_CONSTRAINTS)
  return extension && parseNameConstraints(Buffer.from(extension.value))
}

const defectOf = (parsed: Parsed): string | undefined => {
  const { extensions, signatureAlgorithm } = parsed
  const unknown = extensions.find(({ critical, type }) => critical && !KNOWN_CRITICAL.has(type))
  if (unknown) return `the critical extension ${unknown.type} is not supported`
  const isCritical = extensions.some(({ critical, type }) => critical && type === NAME_CONSTRAINTS)
  if (isCritical && constraintsOf(parsed)?.hasOther) return 'the critical name constraints are not supported'
  return signatureAlgorithm.hash?.name === 'SHA-1' ? 'the signature uses SHA-1' : undefined
}

const TEXT_TAGS: ReadonlySet<number | undefined> = new Set([12, 18, 19, 20, 22])

/** Returns the text of an ASN.1 string in DER; undefined for any other value. */
export const derText = (der: Buffer): string | undefined => {
  const [tag, first] = der
  if (first === undefined) return undefined
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f
  if (!TEXT_TAGS.has(tag) || lengthBytes > 4) return undefined
  const length = lengthBytes === 0 ? first : attempt(() => der.readUIntBE(2, lengthBytes))
  const content = der.subarray(2 + lengthBytes)
  return length === content.length ? content.toString(tag === 12 ? 'utf8' : 'latin1') : undefined
}
