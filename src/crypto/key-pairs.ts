/** Key pairs, stored as the PKCS 8 DER of the private key. The public key is derived from the private key. */
import { attempt } from '../base/attempt.js'
import {
  constants,
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  type KeyObject,
  privateDecrypt,
  publicEncrypt,
} from 'node:crypto'
import { promisify } from 'node:util'
import { KeyedLock } from '../base/keyed-lock.js'
import { sha256Hex } from './digest.js'

export type PairKind =
  | { readonly type: 'ed25519' }
  | { readonly type: 'ec'; readonly curve: 'P-256' | 'P-384' | 'P-521' }
  | { readonly type: 'rsa'; readonly bits: 2048 | 3072 | 4096 | 8192 }

export type MakePrivateKey = (kind: PairKind) => Promise<Buffer>

const generate = promisify(generateKeyPair)

/**
 * Limits key generation to one thread. Key generation, files and storage share a small thread pool, and the generation
 * of an RSA key takes about one second.
 */
const POOL = new KeyedLock()

/** Creates a private key without blocking the event loop. Concurrent calls run one after the other. */
export const createPrivateKeyBytes: MakePrivateKey = async (kind) => {
  const { privateKey } = await POOL.run('', () => generateAs(kind))
  return privateKey.export({ format: 'der', type: 'pkcs8' })
}

const generateAs = (kind: PairKind): Promise<{ privateKey: KeyObject }> => {
  if (kind.type === 'ed25519') return generate('ed25519')
  if (kind.type === 'ec') return generate('ec', { namedCurve: kind.curve })
  return generate('rsa', { modulusLength: kind.bits })
}

export const privateKeyOf = (bytes: Buffer): KeyObject => createPrivateKey({ key: bytes, format: 'der', type: 'pkcs8' })

/** Returns the public key of a public or private key. */
export const publicKeyOf = (key: KeyObject): KeyObject => (key.type === 'private' ? createPublicKey(key) : key)

/** Returns the hash of the public key of a public or private key. */
export const publicHashOf = (key: KeyObject): string =>
  sha256Hex(publicKeyOf(key).export({ format: 'der', type: 'spki' }))

/** The bytes before the seed in the PKCS 8 form of an Ed25519 key (RFC 8410). */
const ED25519_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')

/** Returns the private key bytes for an Ed25519 seed of 32 bytes. */
export const ed25519KeyBytes = (seed: Buffer): Buffer => Buffer.concat([ED25519_PREFIX, seed])

/** Returns the seed in an Ed25519 private key. */
export const ed25519SeedOf = (bytes: Buffer): Buffer => bytes.subarray(ED25519_PREFIX.length)

/** Returns the 32 bytes of an Ed25519 public key. */
export const ed25519PublicBytes = (privateKey: KeyObject): Buffer =>
  Buffer.from(createPublicKey(privateKey).export({ format: 'jwk' }).x ?? '', 'base64url')

export const publicPemOf = (privateKey: KeyObject): string =>
  createPublicKey(privateKey).export({ format: 'pem', type: 'spki' }).toString()

/** Returns the private key as PEM in the traditional form of its type: PKCS 1 for RSA, SEC 1 for elliptic curves. */
export const privatePemOf = (privateKey: KeyObject): string =>
  privateKey.export({ format: 'pem', type: privateKey.asymmetricKeyType === 'rsa' ? 'pkcs1' : 'sec1' }).toString()

const OAEP = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' }

/** Encrypts with RSA OAEP and SHA-256. Returns undefined if `plain` is too long for the key. */
export const encryptWithRsa = (privateKey: KeyObject, plain: Buffer): Buffer | undefined =>
  attempt(() => publicEncrypt({ key: createPublicKey(privateKey), ...OAEP }, plain))

export const decryptWithRsa = (privateKey: KeyObject, sealed: Buffer): Buffer | undefined =>
  attempt(() => privateDecrypt({ key: privateKey, ...OAEP }, sealed))
