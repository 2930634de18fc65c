/** The path that signs a self-issued certificate again, so that another issuer vouches for its key as well. */
import { X509Certificate } from 'node:crypto'
import { certificatePem, derOf } from '../../crypto/pem.js'
import { type ParsedCertificate, parseCertificate } from '../../crypto/x509-parsing.js'
import { createCertificate } from '../../crypto/x509-signing.js'
import { definePaths, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, string } from '../../logical/fields.js'
import { type Issuance, requireSigningKey } from './issuance.js'
import { DEFAULT_REFERENCE } from './named-records.js'
import { certificateOf, type IssuerRecord, pemOf } from './records.js'

const FIELDS = {
  issuer_ref: string('Issuer: `default`, an ID or a name.', DEFAULT_REFERENCE),
  certificate: string('The self-issued certificate in PEM.', '', { isRequired: true }),
  require_matching_certificate_algorithms: bool('Rejects a certificate whose key has another type than the issuer.'),
} as const

export const selfIssuedPaths = (issuance: Issuance): PathSpec[] => {
  /** Signs a certificate with its serial number, validity and extensions, except for those that name the issuer. */
  const sign = (issuer: IssuerRecord, certificate: ParsedCertificate): Promise<Buffer> =>
    createCertificate(
      {
        ...issuance.urls.of(issuer),
        serial: certificate.serial,
        subject: certificate.subject,
        publicKey: certificate.publicKey,
        notBeforeMs: certificate.notBeforeMs,
        notAfterMs: certificate.notAfterMs,
        altNames: [],
        keyUsage: 0,
        extKeyUsage: [],
        copied: certificate.extensions.filter(({ type }) => !OF_ISSUER.has(type)),
      },
      {
        key: requireSigningKey(issuance.authorities, issuer, 'issuing-certificates'),
        hashBits: 0,
        usesPss: false,
      },
      certificateOf(issuer),
    )

  return definePaths(
    ['root/sign-self-issued', 'issuer/:issuer_ref/sign-self-issued'],
    FIELDS,
    'Sign a self-issued certificate.',
    {
      update: async ({ values }) => {
        const certificate = await parseSelfIssued(values.certificate)
        const issuer = await issuance.requireIssuer(values.issuer_ref)
        const [own, other] = [new X509Certificate(certificateOf(issuer)).publicKey, certificate.publicKey]
        if (values.require_matching_certificate_algorithms && own.asymmetricKeyType !== other.asymmetricKeyType) {
          throw invalid(
            `signing certificate's public key algorithm (${own.asymmetricKeyType}) does not match submitted certificate's (${other.asymmetricKeyType}), and require_matching_certificate_algorithms is true`,
          )
        }
        const signed = await sign(issuer, certificate)
        return { data: { certificate: certificatePem(signed).trim(), issuing_ca: pemOf(issuer).trim() } }
      },
    },
  )
}

/** The extensions that depend on the issuer: the identifier of its key, and its URLs. */
const OF_ISSUER: ReadonlySet<string> = new Set(['2.5.29.35', '2.5.29.31', '1.3.6.1.5.5.7.1.1'])

const parseSelfIssued = async (pem: string): Promise<ParsedCertificate> => {
  const der = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/.exec(pem)?.[0]
  if (der === undefined) throw invalid('certificate could not be PEM-decoded')
  const parsed = await parseCertificate(derOf(der)).catch(() => undefined)
  if (!parsed) throw invalid('error parsing certificate: it is malformed')
  if (!parsed.isCa) throw invalid('given certificate is not a CA certificate')
  const { issuer, subject } = new X509Certificate(parsed.der)
  if (issuer !== subject) throw invalid('given certificate is not self-issued')
  return parsed
}
