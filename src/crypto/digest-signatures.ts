/** Signatures of hashes that the client has computed, which Node.js supports only for RSA with PKCS 1. */
import { constants, createHash, type KeyObject, privateEncrypt, publicDecrypt } from 'node:crypto'
import { attempt } from '../base/attempt.js'
import type { Random } from '../base/random.js'
import { readDerSequence } from './der.js'

type Nist = typeof import('@noble/curves/nist.js')
export type EcdsaCurve = Nist['p256']

const CURVES = { 'P-256': 'p256', 'P-384': 'p384', 'P-521': 'p521' } as const satisfies Record<string, keyof Nist>

/** Loads the arithmetic of a curve on first use. */
export const loadCurve = async (name: keyof typeof CURVES): Promise<EcdsaCurve> =>
  (await import('@noble/curves/nist.js'))[CURVES[name]]

export type EcdsaEncoding = 'der' | 'ieee-p1363'

/** OpenSSL and Go neither produce nor require the lower one of two equivalent signatures. */
const optionsOf = (encoding: EcdsaEncoding) =>
  ({ prehash: false, lowS: false, format: encoding === 'der' ? 'der' : 'compact' }) as const

/** Signs a hash with ECDSA. Uses the nonce of RFC 6979. */
export const signDigestWithEcdsa = (
  key: KeyObject,
  { curve, encoding }: { readonly curve: EcdsaCurve; readonly encoding: EcdsaEncoding },
  digest: Buffer,
): Buffer => {
  const { d = '' } = key.export({ format: 'jwk' })
  const { format, ...options } = optionsOf(encoding)
  return Buffer.from(curve.sign(digest, Buffer.from(d, 'base64url'), options).toBytes(format))
}

export const isEcdsaOfDigest = (
  key: KeyObject,
  { curve, encoding }: { readonly curve: EcdsaCurve; readonly encoding: EcdsaEncoding },
  digest: Buffer,
  signature: Buffer,
): boolean => {
  const { x = '', y = '' } = key.export({ format: 'jwk' })
  const point = Buffer.concat([Buffer.from([4]), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')])
  return curve.verify(signature, digest, point, optionsOf(encoding))
}

/** Returns true for the DER encoding of an ECDSA signature: a sequence of two integers. */
export const isDerSignature = (bytes: Buffer): boolean => {
  const parts = attempt(() => readDerSequence(bytes))
  return parts?.length === 2 && parts.every(({ tag }) => tag === INTEGER)
}

const INTEGER = 0x02

export type PssSaltLength = 'auto' | 'hash' | number

interface PssOptions {
  readonly hash: string
  readonly saltLength: PssSaltLength
}

const RAW = { padding: constants.RSA_NO_PADDING }
/** The last byte of an encoded message (RFC 8017, 9.1). */
const TRAILER = 0xbc

const hashOf = (hash: string, ...parts: readonly Buffer[]): Buffer => {
  const sum = createHash(hash)
  for (const part of parts) sum.update(part)
  return sum.digest()
}

/** Masks bytes with the mask generation function MGF1 (RFC 8017, B.2.1), and clears the first bit, as RSA requires. */
const mask = (hash: string, seed: Buffer, bytes: Buffer): Buffer => {
  const blocks: Buffer[] = []
  for (let at = 0, counter = Buffer.alloc(4); at * seed.length < bytes.length; at++) {
    counter.writeUInt32BE(at)
    blocks.push(hashOf(hash, seed, counter))
  }
  const masked = Buffer.concat(blocks).subarray(0, bytes.length)
  for (const [at, byte] of bytes.entries()) masked[at] = (masked[at] ?? 0) ^ byte
  masked[0] = (masked[0] ?? 0) & 0x7f
  return masked
}

const modulusBytes = (key: KeyObject): number => (key.asymmetricKeyDetails?.modulusLength ?? 0) / 8

const hashWithSalt = (hash: string, digest: Buffer, salt: Buffer): Buffer => hashOf(hash, Buffer.alloc(8), digest, salt)

/** Signs a hash with RSA PSS. Returns undefined if the digest has a wrong length, or the salt does not fit. */
export const signDigestWithPss = (
  key: KeyObject,
  { hash, saltLength, random }: PssOptions & { readonly random: Random },
  digest: Buffer,
): Buffer | undefined => {
  const room = modulusBytes(key) - digest.length - 2
  const length = saltLength === 'auto' ? room : saltLength === 'hash' ? digest.length : saltLength
  if (digest.length !== hashOf(hash).length || length > room) return undefined
  const salt = random.bytes(length)
  const sum = hashWithSalt(hash, digest, salt)
  const block = Buffer.concat([Buffer.alloc(room - length), Buffer.from([1]), salt])
  return privateEncrypt({ key, ...RAW }, Buffer.concat([mask(hash, sum, block), sum, Buffer.from([TRAILER])]))
}

export const isPssOfDigest = (
  key: KeyObject,
  { hash, saltLength }: PssOptions,
  digest: Buffer,
  signature: Buffer,
): boolean => {
  if (digest.length !== hashOf(hash).length || signature.length !== modulusBytes(key)) return false
  const message = publicDecrypt({ key, ...RAW }, signature)
  const sum = message.subarray(-digest.length - 1, -1)
  const masked = message.subarray(0, -digest.length - 1)
  if (message.at(-1) !== TRAILER || (masked[0] ?? 0) > 0x7f) return false
  const block = mask(hash, sum, masked)
  const start = block.findIndex((byte) => byte !== 0)
  const salt = block.subarray(start + 1)
  const length = saltLength === 'hash' ? digest.length : saltLength
  if (block[start] !== 1 || (length !== 'auto' && salt.length !== length)) return false
  return hashWithSalt(hash, digest, salt).equals(sum)
}
