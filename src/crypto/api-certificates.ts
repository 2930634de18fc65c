import { isIP } from 'node:net'
import { webcrypto } from 'node:crypto'
import { certificatePem, privateKeyPem } from './pem.js'

/**
 * A CA and a server certificate for the API of a development server, generated at the start. The curve is P-256,
 * because browsers and some client libraries do not support P-521.
 */
export interface ApiCertificates {
  /** All PEM. */
  readonly ca: string
  readonly certificate: string
  readonly privateKey: string
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const DAY_MS = 86_400_000
/** Some clients reject server certificates with a longer validity. */
const VALID_DAYS = 397
/** Tolerates a client clock that is slightly behind. */
const BACKDATED_MS = 3_600_000

/** Generates the certificates. `hosts` are the names and addresses that clients use; the first is the common name. */
export const createApiCertificates = async (hosts: readonly string[], nowMs: number): Promise<ApiCertificates> => {
  await import('reflect-metadata')
  const x509 = await import('@peculiar/x509')
  const caKeys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const validity = { notBefore: new Date(nowMs - BACKDATED_MS), notAfter: new Date(nowMs + VALID_DAYS * DAY_MS) }
  const ca = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: 'CN=Understudy development CA',
      keys: caKeys,
      signingAlgorithm: ALGORITHM,
      ...validity,
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
        await x509.SubjectKeyIdentifierExtension.create(caKeys.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  )
  const leaf = await x509.X509CertificateGenerator.create(
    {
      subject: [{ CN: [hosts[0] ?? 'localhost'] }],
      issuer: ca.subject,
      publicKey: keys.publicKey,
      signingKey: caKeys.privateKey,
      signingAlgorithm: ALGORITHM,
      ...validity,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
        new x509.SubjectAlternativeNameExtension(
          hosts.map((value) => ({ type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const), value })),
        ),
        await x509.AuthorityKeyIdentifierExtension.create(caKeys.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  )
  return {
    ca: certificatePem(Buffer.from(ca.rawData)),
    certificate: certificatePem(Buffer.from(leaf.rawData)),
    privateKey: privateKeyPem(Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey))),
  }
}
