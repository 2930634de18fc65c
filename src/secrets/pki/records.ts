/** The stored forms of keys and issuers. Both replicate to performance secondaries. */
import { type KeyObject, X509Certificate } from 'node:crypto'
import { sha256Hex } from '../../crypto/digest.js'
import { certificatePem } from '../../crypto/pem.js'
import { privateKeyOf, publicHashOf } from '../../crypto/key-pairs.js'
import type { ParsedCertificate } from '../../crypto/x509-parsing.js'
import type { KeyTypeName } from './key-types.js'

export interface KeyRecord {
  readonly id: string
  /** Empty if the key has no name. */
  readonly name: string
  readonly type: KeyTypeName
  /** PKCS 8 in base64. */
  readonly material: string
  /** Hash of the public key. */
  readonly publicHash: string
}

/** The URLs that certificates name: of the issuer's certificate, of its revocation list, and of OCSP servers. */
export interface UrlSettings {
  readonly issuingCertificates: readonly string[]
  readonly crlDistributionPoints: readonly string[]
  readonly ocspServers: readonly string[]
  readonly isTemplated: boolean
}

export const NO_URLS: UrlSettings = {
  issuingCertificates: [],
  crlDistributionPoints: [],
  ocspServers: [],
  isTemplated: false,
}

export const USAGES = ['read-only', 'issuing-certificates', 'crl-signing', 'ocsp-signing'] as const
export type Usage = (typeof USAGES)[number]

/** Returns usages as responses contain them. */
export const usageText = (usages: readonly Usage[]): string => [...usages].sort().join(',')

export const LEAF_BEHAVIORS = ['err', 'truncate', 'permit'] as const
export type LeafBehavior = (typeof LEAF_BEHAVIORS)[number]

export interface IssuerRecord {
  readonly id: string
  /** Empty if the issuer has no name. */
  readonly name: string
  /** Empty if the mount does not have the key. */
  readonly keyId: string
  /** DER in base64. */
  readonly certificate: string
  /** With hyphens. */
  readonly serial: string
  readonly notAfterMs: number
  /** Undefined without a limit. */
  readonly maxPathLength?: number | undefined
  readonly isSelfSigned: boolean
  readonly publicHash: string
  /** Hash of subject and public key. Issuers with the same value share their revocation list. */
  readonly authority: string
  readonly leafNotAfterBehavior: LeafBehavior
  readonly usage: readonly Usage[]
  /** IDs of issuers, or empty for the chain that the certificates determine. */
  readonly manualChain: readonly string[]
  readonly urls: UrlSettings
  /** 0 unless revoked. */
  readonly revokedMs: number
  /** Signature algorithm of the revocation list, as in the API; absent or empty for the default. */
  readonly revocationAlgorithm?: string
}

export const newKey = (id: string, name: string, type: KeyTypeName, material: Buffer): KeyRecord => ({
  id,
  name,
  type,
  material: material.toString('base64'),
  publicHash: publicHashOf(privateKeyOf(material)),
})

/** Returns the private key of a record. */
export const keyObjectOf = ({ material }: KeyRecord): KeyObject => privateKeyOf(Buffer.from(material, 'base64'))

export const newIssuer = (id: string, name: string, keyId: string, certificate: ParsedCertificate): IssuerRecord => {
  const publicHash = publicHashOf(certificate.publicKey)
  return {
    id,
    name,
    keyId,
    certificate: certificate.der.toString('base64'),
    serial: hyphenated(certificate.serial),
    notAfterMs: certificate.notAfterMs,
    maxPathLength: certificate.maxPathLength,
    isSelfSigned: certificate.isSelfSigned,
    publicHash,
    authority: sha256Hex(`${sha256Hex(certificate.subject)}${publicHash}`),
    leafNotAfterBehavior: 'err',
    usage: USAGES,
    manualChain: [],
    urls: NO_URLS,
    revokedMs: 0,
  }
}

export const certificateOf = ({ certificate }: Pick<IssuerRecord, 'certificate'>): Buffer =>
  Buffer.from(certificate, 'base64')

/** Returns the parsed certificate of a record. */
export const x509Of = (record: Pick<IssuerRecord, 'certificate'>): X509Certificate =>
  new X509Certificate(certificateOf(record))

export const pemOf = (record: Pick<IssuerRecord, 'certificate'>): string => certificatePem(certificateOf(record))

/** Returns a serial number in hex with hyphens between the bytes, as storage keys contain it. */
export const hyphenated = (hex: string): string =>
  ((hex.length % 2 === 0 ? hex : `0${hex}`).toLowerCase().match(/../g) ?? []).join('-')

/** Returns a serial number with colons, as responses contain it. */
export const colons = (serial: string): string => serial.replaceAll('-', ':')
