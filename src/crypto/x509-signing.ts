/** Certificates and signing requests whose names, keys and extensions the client selects. All bytes are DER. */
import type { KeyObject } from 'node:crypto'
import { loadX509 } from './certificates.js'
import { publicKeyOf } from './key-pairs.js'
import { objectCrypto, objectKey, type ObjectKey, type SigningAlgorithm } from './object-keys.js'
import { type CertificateContent, extensionsOf, type Library, nameOf } from './x509-content.js'

/** A private key and the parameters of its signatures. Only RSA keys have parameters. */
export interface Signer {
  readonly key: KeyObject
  /** 0 means the default. */
  readonly hashBits: 0 | 256 | 384 | 512
  readonly usesPss: boolean
}

/** The curves with their names in the API and the hash of their signatures. */
const CURVES: Readonly<Record<string, SigningAlgorithm>> = {
  prime256v1: { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
  secp384r1: { name: 'ECDSA', namedCurve: 'P-384', hash: 'SHA-384' },
  secp521r1: { name: 'ECDSA', namedCurve: 'P-521', hash: 'SHA-512' },
}

/** Returns the algorithm of signatures. Throws for a key that cannot sign certificates. */
export const algorithmOf = ({ key, hashBits, usesPss }: Signer): SigningAlgorithm => {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key
  if (type === 'ed25519') return { name: 'Ed25519' }
  if (type === 'ec') {
    const algorithm = CURVES[details?.namedCurve ?? '']
    if (algorithm) return algorithm
  }
  if (type !== 'rsa') throw new Error(`keys of type ${type} cannot sign certificates`)
  const bits = hashBits === 0 ? 256 : hashBits
  const hash = `SHA-${bits}`
  return usesPss ? { name: 'RSA-PSS', hash, saltLength: bits / 8 } : { name: 'RSASSA-PKCS1-v1_5', hash }
}

export const spkiOf = (key: KeyObject): ArrayBuffer =>
  Uint8Array.from(publicKeyOf(key).export({ format: 'der', type: 'spki' })).buffer

export const asCryptoKey = (key: ObjectKey): CryptoKey => key as unknown as CryptoKey

/** Returns the identifier of a public key in hex: the SHA-1 of its bits, as RFC 5280, 4.2.1.2 (1) recommends. */
export const keyIdOf = async (x509: Library, spki: ArrayBuffer): Promise<string> =>
  Buffer.from(await new x509.PublicKey(spki).getKeyIdentifier()).toString('hex')

/** Returns the identifier of the public key of a key in hex. */
export const subjectKeyIdOf = async (key: KeyObject): Promise<string> => keyIdOf(await loadX509(), spkiOf(key))

interface CertificateParameters extends CertificateContent {
  /** A positive number in hex. */
  readonly serial: string
  readonly publicKey: KeyObject
  readonly notBeforeMs: number
  readonly notAfterMs: number
}

/** Creates a certificate. Without the certificate of an issuer, the certificate is self-signed. */
export const createCertificate = async (
  content: CertificateParameters,
  signer: Signer,
  issuer?: Buffer,
): Promise<Buffer> => {
  const x509 = await loadX509()
  const algorithm = algorithmOf(signer)
  const spki = spkiOf(content.publicKey)
  const subject = nameOf(x509, content.subject)
  const authority = issuer && new x509.X509Certificate(issuer)
  const subjectKeyId = content.subjectKeyId || (await keyIdOf(x509, spki))
  const authorityKeyId = authority
    ? (authority.getExtension(x509.SubjectKeyIdentifierExtension)?.keyId ?? (await keyIdOf(x509, spkiOf(signer.key))))
    : subjectKeyId
  const certificate = await x509.X509CertificateGenerator.create(
    {
      serialNumber: content.serial,
      subject,
      issuer: authority?.subjectName ?? subject,
      publicKey: spki,
      signingKey: asCryptoKey(objectKey(signer.key, algorithm)),
      signingAlgorithm: algorithm,
      notBefore: toSecond(content.notBeforeMs),
      notAfter: toSecond(content.notAfterMs),
      extensions: extensionsOf(x509, content, { subjectKeyId, authorityKeyId }),
    },
    objectCrypto,
  )
  return Buffer.from(certificate.rawData)
}

export const toSecond = (ms: number): Date => new Date(Math.floor(ms / 1000) * 1000)

/** Creates a signing request for the public key of the signer. */
export const createSigningRequest = async (content: CertificateContent, signer: Signer): Promise<Buffer> => {
  const x509 = await loadX509()
  const algorithm = algorithmOf(signer)
  const request = await x509.Pkcs10CertificateRequestGenerator.create(
    {
      name: nameOf(x509, content.subject),
      keys: {
        privateKey: asCryptoKey(objectKey(signer.key, algorithm)),
        publicKey: asCryptoKey(objectKey(publicKeyOf(signer.key), algorithm)),
      },
      signingAlgorithm: algorithm,
      extensions: extensionsOf(x509, content),
    },
    objectCrypto,
  )
  return Buffer.from(request.rawData)
}
