import { X509Certificate, webcrypto } from 'node:crypto'
import { isIP } from 'node:net'

/**
 * A certificate authority and the certificates it issues, on the curve P-521 unless other keys are handed in. The library is loaded when the first
 * certificate is made: it costs a fifth of a second, and most processes never make one.
 */
interface KeyedCertificate {
  /** DER. */
  readonly certificate: Buffer
  /** PKCS 8 DER. */
  readonly privateKey: Buffer
}

const loadX509 = async () => {
  await import('reflect-metadata')
  return import('@peculiar/x509')
}

/** Makes the key pairs and signatures of certificates. */
export interface CertificateKeys {
  readonly loadLibrary: typeof loadX509
  readonly crypto: webcrypto.Crypto
  /** Of the key that signs. */
  readonly authority: KeyAlgorithm
  /** Of the keys whose holders are known by their certificates. */
  readonly client: KeyAlgorithm
}

interface KeyAlgorithm {
  readonly name: string
  readonly namedCurve?: string
  readonly hash?: string
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-521', hash: 'SHA-512' } as const

const P521: CertificateKeys = {
  loadLibrary: loadX509,
  crypto: webcrypto as webcrypto.Crypto,
  authority: ALGORITHM,
  client: ALGORITHM,
}
const YEAR_MS = 365.25 * 86_400_000
const VALID_YEARS = 30
/** Clocks of clusters differ a little. */
const BACKDATED_MS = 3_600_000

interface Subject {
  /** Common name, and host. */
  readonly name: string
  readonly nowMs: number
  /** Names or addresses beside it. */
  readonly otherHosts?: readonly string[]
  /** Hex, of a positive number of 16 bytes; random by default. */
  readonly serialNumber?: string
}

/** A self-signed authority, which can also serve as a server's certificate. */
export const createAuthority = async (
  { name, nowMs }: Subject,
  { crypto, authority, loadLibrary } = P521,
): Promise<KeyedCertificate> => {
  const x509 = await loadLibrary()
  const keys = await generatePair(crypto, authority)
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: `CN=${name}`,
      keys,
      signingAlgorithm: authority,
      ...validity(nowMs),
      extensions: [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.KeyUsagesExtension(
          x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign,
          true,
        ),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
        new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: name }]),
      ],
    },
    crypto,
  )
  return { certificate: Buffer.from(certificate.rawData), privateKey: await exportKey(crypto, keys.privateKey) }
}

/** A certificate for a client, signed by the authority. */
export const issueCertificate = async (
  issuer: KeyedCertificate,
  { name, nowMs, otherHosts = [], serialNumber }: Subject,
  { crypto, authority, client, loadLibrary } = P521,
): Promise<KeyedCertificate> => {
  const x509 = await loadLibrary()
  const keys = await generatePair(crypto, client)
  const signingKey = await crypto.subtle.importKey('pkcs8', issuer.privateKey, authority, false, ['sign'])
  const certificate = await x509.X509CertificateGenerator.create(
    {
      subject: `CN=${name}`,
      ...(serialNumber === undefined ? {} : { serialNumber }),
      issuer: new x509.X509Certificate(issuer.certificate).subject,
      publicKey: keys.publicKey,
      signingKey,
      signingAlgorithm: authority,
      ...validity(nowMs),
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyAgreement, true),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
        new x509.SubjectAlternativeNameExtension([name, ...otherHosts].map(asAltName)),
      ],
    },
    crypto,
  )
  return { certificate: Buffer.from(certificate.rawData), privateKey: await exportKey(crypto, keys.privateKey) }
}

/** The DER of a certificate revocation list that is signed by the authority. `serials`: hex. */
export const createRevocationList = async (
  issuer: KeyedCertificate,
  { serials, nowMs }: { readonly serials: readonly string[]; readonly nowMs: number },
  { crypto, authority, loadLibrary } = P521,
): Promise<Buffer> => {
  const x509 = await loadLibrary()
  const { notAfter } = validity(nowMs)
  const list = await x509.X509CrlGenerator.create(
    {
      issuer: new x509.X509Certificate(issuer.certificate).subject,
      ...{ thisUpdate: new Date(nowMs - BACKDATED_MS), nextUpdate: notAfter },
      signingAlgorithm: authority,
      signingKey: await crypto.subtle.importKey('pkcs8', issuer.privateKey, authority, false, ['sign']),
      entries: serials.map((serialNumber) => ({ serialNumber, revocationDate: new Date(nowMs) })),
    },
    crypto,
  )
  return Buffer.from(list.rawData)
}

const asAltName = (host: string) => ({ type: isIP(host) ? ('ip' as const) : ('dns' as const), value: host })

const validity = (nowMs: number) => ({
  notBefore: new Date(nowMs - BACKDATED_MS),
  notAfter: new Date(nowMs + VALID_YEARS * YEAR_MS),
})

const generatePair = (crypto: webcrypto.Crypto, algorithm: KeyAlgorithm): Promise<webcrypto.CryptoKeyPair> =>
  crypto.subtle.generateKey(algorithm as webcrypto.EcKeyGenParams, true, ['sign', 'verify'])

const exportKey = async (crypto: webcrypto.Crypto, key: webcrypto.CryptoKey): Promise<Buffer> =>
  Buffer.from(await crypto.subtle.exportKey('pkcs8', key))

/** Whether the bytes are a certificate, whoever has signed it. */
export const isCertificate = (der: Buffer): boolean => {
  try {
    return new X509Certificate(der).raw.equals(der)
  } catch {
    return false
  }
}

/** The common name of a DER or PEM certificate's subject; undefined when it is no certificate or has none. */
export const findCommonName = (certificate: Buffer | string): string | undefined => {
  try {
    return /^CN=(.+)$/m.exec(new X509Certificate(certificate).subject)?.[1]
  } catch {
    return undefined
  }
}

/** Every certificate in a PEM text, each in its own PEM; undefined when there is none, or one cannot be read. */
export const parsePemCertificates = (text: string): string[] | undefined => {
  // Node reads the first certificate of a text alone, so the text is cut into its certificates before.
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g)
  if (!blocks) return undefined
  try {
    return blocks.map((block) => new X509Certificate(block).toString())
  } catch {
    return undefined
  }
}
