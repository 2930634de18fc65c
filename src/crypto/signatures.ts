/** Signatures for keys whose type the client selects. */
import { attempt } from '../base/attempt.js'
import type { Random } from '../base/random.js'
import type { HashName } from './digest.js'
import {
  type EcdsaCurve,
  type EcdsaEncoding,
  isEcdsaOfDigest,
  isPssOfDigest,
  type PssSaltLength,
  signDigestWithEcdsa,
  signDigestWithPss,
} from './digest-signatures.js'
import { publicKeyOf } from './key-pairs.js'
import {
  constants,
  type KeyObject,
  privateEncrypt,
  publicDecrypt,
  sign,
  type SignKeyObjectInput,
  verify,
} from 'node:crypto'

/** The schemes that hash the data. */
type Hashing =
  | { readonly kind: 'ed25519' }
  | { readonly kind: 'ecdsa'; readonly hash: HashName; readonly encoding: EcdsaEncoding }
  | { readonly kind: 'rsa-pss'; readonly hash: HashName; readonly saltLength: PssSaltLength }
  | { readonly kind: 'rsa-pkcs1'; readonly hash: HashName }

/** The schemes whose data is already a hash. */
type OfDigest =
  | { readonly kind: 'ecdsa-digest'; readonly curve: EcdsaCurve; readonly encoding: EcdsaEncoding }
  | {
      readonly kind: 'rsa-pss-digest'
      readonly hash: HashName
      readonly saltLength: PssSaltLength
      readonly random: Random
    }
  /** `hash` is the algorithm that produced the input; undefined if the input is signed unchanged. */
  | { readonly kind: 'rsa-pkcs1-digest'; readonly hash: HashName | undefined }

export type SignatureScheme = Hashing | OfDigest

/**
 * Signs data. Returns undefined if the key is too short for the signature, or if `data` is not a hash of the given
 * algorithm.
 */
export const signBytes = (key: KeyObject, scheme: SignatureScheme, data: Buffer): Buffer | undefined =>
  attempt(() => {
    if (scheme.kind === 'ecdsa-digest') return signDigestWithEcdsa(key, scheme, data)
    if (scheme.kind === 'rsa-pss-digest') return signDigestWithPss(key, scheme, data)
    if (scheme.kind !== 'rsa-pkcs1-digest') return sign(hashOf(scheme), data, inputOf(key, scheme, 'sign'))
    const digestInfo = digestInfoOf(scheme.hash, data)
    return digestInfo && privateEncrypt({ key, padding: constants.RSA_PKCS1_PADDING }, digestInfo)
  })

/** Returns true if the signature is valid. `key` is the public key or the private key. */
export const isSignature = (key: KeyObject, scheme: SignatureScheme, data: Buffer, signature: Buffer): boolean => {
  const publicKey = publicKeyOf(key)
  const isGood = attempt(() => {
    if (scheme.kind === 'ecdsa-digest') return isEcdsaOfDigest(publicKey, scheme, data, signature)
    if (scheme.kind === 'rsa-pss-digest') return isPssOfDigest(publicKey, scheme, data, signature)
    if (scheme.kind !== 'rsa-pkcs1-digest') {
      return verify(hashOf(scheme), data, inputOf(publicKey, scheme, 'verify'), signature)
    }
    const digestInfo = digestInfoOf(scheme.hash, data)
    const signed = publicDecrypt({ key: publicKey, padding: constants.RSA_PKCS1_PADDING }, signature)
    return digestInfo?.equals(signed) ?? false
  })
  return isGood ?? false
}

const hashOf = (scheme: Hashing): HashName | null => (scheme.kind === 'ed25519' ? null : scheme.hash)

const inputOf = (key: KeyObject, scheme: Hashing, use: 'sign' | 'verify'): SignKeyObjectInput => {
  if (scheme.kind === 'ecdsa') return { key, dsaEncoding: scheme.encoding }
  if (scheme.kind !== 'rsa-pss') return { key }
  return { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: saltOf(scheme.saltLength, use) }
}

const saltOf = (length: PssSaltLength, use: 'sign' | 'verify'): number => {
  if (length === 'hash') return constants.RSA_PSS_SALTLEN_DIGEST
  if (length !== 'auto') return length
  return use === 'sign' ? constants.RSA_PSS_SALTLEN_MAX_SIGN : constants.RSA_PSS_SALTLEN_AUTO
}

/** The prefix that PKCS 1 adds to a hash, in hex: algorithm identifier and length of the hash (RFC 8017, 9.2). */
const DIGEST_PREFIX: Readonly<Record<HashName, string>> = {
  sha1: '3021300906052b0e03021a05000414',
  sha224: '302d300d06096086480165030402040500041c',
  sha256: '3031300d060960864801650304020105000420',
  sha384: '3041300d060960864801650304020205000430',
  sha512: '3051300d060960864801650304020305000440',
  'sha3-224': '302d300d06096086480165030402070500041c',
  'sha3-256': '3031300d060960864801650304020805000420',
  'sha3-384': '3041300d060960864801650304020905000430',
  'sha3-512': '3051300d060960864801650304020a05000440',
}

const digestInfoOf = (hash: HashName | undefined, digest: Buffer): Buffer | undefined => {
  if (hash === undefined) return digest
  const prefix = Buffer.from(DIGEST_PREFIX[hash], 'hex')
  return digest.length === prefix.at(-1) ? Buffer.concat([prefix, digest]) : undefined
}
