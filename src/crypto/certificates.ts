import { attempt } from '../base/attempt.js'
import { X509Certificate, webcrypto } from 'node:crypto'
import { isIP } from 'node:net'
import { certificatePem, privateKeyPem } from './pem.js'

/**
 * Certificate authorities and the certificates that they issue. By default, the keys are P-521 keys. The certificate
 * library is loaded at the first use, because loading takes about 200 ms and most processes do not need it.
 */
interface KeyedCertificate {
  /** DER. */
  readonly certificate: Buffer
  /** PKCS 8 DER. */
  readonly privateKey: Buffer
}

/** Loads the certificate library. Code that only reads and writes PEM or DER never waits for it. */
export const loadX509 = async () => {
  await import('reflect-metadata')
  return import('@peculiar/x509')
}

/** Generates the keys and signatures of certificates. */
export interface CertificateKeys {
  readonly loadLibrary: typeof loadX509
  readonly crypto: webcrypto.Crypto
  /** Algorithm of the keys of authorities, which sign. */
  readonly authority: KeyAlgorithm
  /** Algorithm of the keys of issued certificates. */
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
const DAY_MS = 86_400_000
const VALID_DAYS = 30 * 365.25
/** Certificates become valid this long before their creation (in ms), which tolerates clock differences. */
const BACKDATED_MS = 3_600_000

interface Subject {
  /** The common name, which is also the host name. */
  readonly name: string
  readonly nowMs: number
  /** Additional host names or addresses. */
  readonly otherHosts?: readonly string[]
  /** A positive number of 16 bytes in hex. By default, the number is random. */
  readonly serialNumber?: string
}

/** Creates a self-signed authority. Its certificate can also serve as a server certificate. */
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

/** Issues a certificate for clients and servers, signed by the authority. */
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

/** A CA and a server certificate for the API of a development server. The server generates them at startup. */
export interface ApiCertificates {
  /** All values are PEM. */
  readonly ca: string
  readonly certificate: string
  readonly privateKey: string
}

/** The algorithm of API certificates. Browsers and some client libraries do not support P-521. */
const API_ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
/** Validity of API certificates in days. Some clients reject server certificates with a longer validity. */
const API_VALID_DAYS = 397

/** Generates the certificates. `hosts` are the names and addresses of the server. The first is the common name. */
export const createApiCertificates = async (hosts: readonly string[], nowMs: number): Promise<ApiCertificates> => {
  const { crypto, loadLibrary } = P521
  const x509 = await loadLibrary()
  const caKeys = await generatePair(crypto, API_ALGORITHM)
  const keys = await generatePair(crypto, API_ALGORITHM)
  const common = { signingAlgorithm: API_ALGORITHM, ...validity(nowMs, API_VALID_DAYS) }
  const ca = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: 'CN=Understudy development CA',
      keys: caKeys,
      ...common,
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
        await x509.SubjectKeyIdentifierExtension.create(caKeys.publicKey, false, crypto),
      ],
    },
    crypto,
  )
  const leaf = await x509.X509CertificateGenerator.create(
    {
      subject: [{ CN: [hosts[0] ?? 'localhost'] }],
      issuer: ca.subject,
      publicKey: keys.publicKey,
      signingKey: caKeys.privateKey,
      ...common,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
        new x509.SubjectAlternativeNameExtension(hosts.map(asAltName)),
        await x509.AuthorityKeyIdentifierExtension.create(caKeys.publicKey, false, crypto),
      ],
    },
    crypto,
  )
  return {
    ca: certificatePem(Buffer.from(ca.rawData)),
    certificate: certificatePem(Buffer.from(leaf.rawData)),
    privateKey: privateKeyPem(await exportKey(crypto, keys.privateKey)),
  }
}

/** Returns the DER of a certificate revocation list that the authority has signed. `serials` are in hex. */
export const createRevocationList = async (
  issuer: KeyedCertificate,
  { serials, nowMs }: { readonly serials: readonly string[]; readonly nowMs: number },
): Promise<Buffer> => {
  const { crypto, authority, loadLibrary } = P521
  const x509 = await loadLibrary()
  const { notAfter } = validity(nowMs)
  const list = await x509.X509CrlGenerator.create(
    {
      issuer: new x509.X509Certificate(issuer.certificate).subject,
      thisUpdate: new Date(nowMs - BACKDATED_MS),
      nextUpdate: notAfter,
      signingAlgorithm: authority,
      signingKey: await crypto.subtle.importKey('pkcs8', issuer.privateKey, authority, false, ['sign']),
      entries: serials.map((serialNumber) => ({ serialNumber, revocationDate: new Date(nowMs) })),
    },
    crypto,
  )
  return Buffer.from(list.rawData)
}

const asAltName = (host: string) => ({ type: isIP(host) ? ('ip' as const) : ('dns' as const), value: host })

const validity = (nowMs: number, days = VALID_DAYS) => ({
  notBefore: new Date(nowMs - BACKDATED_MS),
  notAfter: new Date(nowMs + days * DAY_MS),
})

const generatePair = (crypto: webcrypto.Crypto, algorithm: KeyAlgorithm): Promise<webcrypto.CryptoKeyPair> =>
  crypto.subtle.generateKey(algorithm as webcrypto.EcKeyGenParams, true, ['sign', 'verify'])

const exportKey = async (crypto: webcrypto.Crypto, key: webcrypto.CryptoKey): Promise<Buffer> =>
  Buffer.from(await crypto.subtle.exportKey('pkcs8', key))

/** Returns true if the bytes are a certificate, from any issuer. */
export const isCertificate = (der: Buffer): boolean => attempt(() => new X509Certificate(der).raw.equals(der)) ?? false

/**
 * Returns the common name of the subject of a certificate (DER or PEM). Returns undefined if the certificate is invalid
 * or has no common name.
 */
export const findCommonName = (certificate: Buffer | string): string | undefined =>
  attempt(() => /^CN=(.+)$/m.exec(new X509Certificate(certificate).subject)?.[1])

const BEGIN_CERTIFICATE = '-----BEGIN CERTIFICATE-----'

/** Returns each certificate of a PEM text as its own PEM. Returns undefined if there is none or one is invalid. */
export const parsePemCertificates = (text: string): string[] | undefined => {
  // `X509Certificate` reads only the first certificate of a text.
  const blocks = text.split(BEGIN_CERTIFICATE).slice(1)
  if (blocks.length === 0) return undefined
  return attempt(() => blocks.map((block) => new X509Certificate(BEGIN_CERTIFICATE + block).toString()))
}
