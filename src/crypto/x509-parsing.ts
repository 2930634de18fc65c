/** Reads certificates and signing requests that clients send. */
import { createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import { loadX509 } from './certificates.js'
import { objectCrypto } from './object-keys.js'
import { derOf } from './pem.js'
import type { AltName, Library, RawExtension } from './x509-content.js'

/** The extensions of a certificate or a signing request that decide what it may be used for. */
interface Extensions {
  readonly isCa: boolean
  readonly maxPathLength: number | undefined
  /** Bits of `KEY_USAGES`; undefined without the extension. */
  readonly keyUsage: number | undefined
  /** Without the other names. */
  readonly altNames: readonly AltName[]
  readonly extensions: readonly RawExtension[]
}

interface SigningRequest extends Extensions {
  /** DER. */
  readonly subject: Buffer
  readonly commonName: string
  readonly serialNumber: string
  readonly userIds: readonly string[]
  readonly publicKey: KeyObject
}

export interface ParsedCertificate extends Extensions {
  /** DER. */
  readonly der: Buffer
  /** DER. */
  readonly subject: Buffer
  /** In hex, lower case. */
  readonly serial: string
  /** In hex; empty without the extension. */
  readonly subjectKeyId: string
  readonly publicKey: KeyObject
  readonly notBeforeMs: number
  readonly notAfterMs: number
  /** True if the certificate is signed with its own key. */
  readonly isSelfSigned: boolean
}

const REQUEST_BLOCK = /-----BEGIN (?:NEW )?CERTIFICATE REQUEST-----[^-]+-----END (?:NEW )?CERTIFICATE REQUEST-----/

/**
 * Parses the PEM of a signing request and verifies its signature. Rejects with an error for any other text, and for
 * alternative names that are not DNS names, email addresses, IP addresses or URLs.
 */
export const parseSigningRequest = async (pem: string): Promise<SigningRequest> => {
  const x509 = await loadX509()
  const found = REQUEST_BLOCK.exec(pem)
  if (!found) throw new Error('no PEM block of a signing request')
  const request = new x509.Pkcs10CertificateRequest(Uint8Array.from(derOf(found[0])))
  if (!(await request.verify(objectCrypto))) throw new Error('the signature is invalid')
  const { subjectName, publicKey } = request
  return {
    subject: Buffer.from(subjectName.toArrayBuffer()),
    commonName: subjectName.getField('2.5.4.3').at(-1) ?? '',
    serialNumber: subjectName.getField('2.5.4.5').at(-1) ?? '',
    userIds: subjectName.getField('0.9.2342.19200300.100.1.1'),
    publicKey: createPublicKey({ key: Buffer.from(publicKey.rawData), format: 'der', type: 'spki' }),
    ...extensionsIn(x509, request),
  }
}

/** Parses the DER of a certificate. Rejects with an error for any other bytes. */
export const parseCertificate = async (der: Buffer): Promise<ParsedCertificate> => {
  const x509 = await loadX509()
  const own = new X509Certificate(der)
  const certificate = new x509.X509Certificate(Uint8Array.from(own.raw))
  return {
    der: own.raw,
    subject: Buffer.from(certificate.subjectName.toArrayBuffer()),
    serial: own.serialNumber.toLowerCase(),
    subjectKeyId: certificate.getExtension(x509.SubjectKeyIdentifierExtension)?.keyId ?? '',
    publicKey: own.publicKey,
    notBeforeMs: certificate.notBefore.getTime(),
    notAfterMs: certificate.notAfter.getTime(),
    isSelfSigned: isIssuedBy(own, own),
    ...extensionsIn(x509, certificate),
  }
}

type Holder = Pick<InstanceType<Library['X509Certificate']>, 'extensions'>

const extensionsIn = (x509: Library, holder: Holder): Extensions => {
  const find = <T>(type: new (...parameters: never[]) => T): T | undefined =>
    holder.extensions.find((extension): extension is typeof extension & T => extension instanceof type)
  const basic = find(x509.BasicConstraintsExtension)
  const names = find(x509.SubjectAlternativeNameExtension)
  return {
    isCa: basic?.ca ?? false,
    maxPathLength: basic?.pathLength,
    keyUsage: find(x509.KeyUsagesExtension)?.usages,
    altNames: (names?.names.items ?? []).flatMap(({ type, value }) =>
      OTHER_TYPES.has(type) ? [] : [{ type: requireSupported(type), value }],
    ),
    extensions: holder.extensions.map(({ type, critical, value }) => ({ type, critical, value: Buffer.from(value) })),
  }
}

/** The types that the library gives to some of the other names. */
const OTHER_TYPES: ReadonlySet<string> = new Set(['upn', 'guid'])

const SUPPORTED = ['dns', 'email', 'ip', 'url'] as const

const requireSupported = (type: string): AltName['type'] => {
  const supported = SUPPORTED.find((name) => name === type)
  if (!supported) throw new Error(`alternative names of type ${type} are not supported`)
  return supported
}

/** Returns true if the issuer has signed the certificate. Does not check the validity of either. */
export const isIssuedBy = (certificate: X509Certificate, issuer: X509Certificate): boolean =>
  certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
