import 'reflect-metadata'
import {
  createECDH,
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  timingSafeEqual,
  type webcrypto,
} from 'node:crypto'
import * as x509 from '@peculiar/x509'
import type { Random } from '../base/random.js'
import type { CertificateKeys } from './certificates.js'
import { type JwtKeys, peekClaims } from './jwt.js'
import { type ObjectKey, objectKey, objectSubtle } from './object-keys.js'
import { ed25519KeyBytes, type MakePrivateKey, type PairKind, privateKeyOf } from './key-pairs.js'

/**
 * Keys and signatures for simulations, created without threads. Ed25519 is deterministic: the same key always creates
 * the same signature for the same bytes. The certificates are valid, and production code verifies them.
 */

const SIGNING = { name: 'Ed25519' }
/**
 * Algorithm of the client keys. Activation tokens only allow P-521 keys. The client keys sign nothing, so their
 * signatures need not be deterministic.
 */
const CLIENT = { name: 'ECDSA', namedCurve: 'P-521', hash: 'SHA-512' }

const keyOf = (key: KeyObject): ObjectKey => objectKey(key, key.asymmetricKeyType === 'ed25519' ? SIGNING : CLIENT)

/** Returns the key functions for the certificate library: the part of Web Crypto that the library uses. */
export const simulatedCertificateKeys = (random: Random): CertificateKeys => {
  const subtle = {
    generateKey: async (algorithm: { readonly name: string }) => {
      const privateKey =
        algorithm === SIGNING ? privateKeyOf(ed25519KeyBytes(random.bytes(32))) : ecKey('P-521', random)
      return { privateKey: keyOf(privateKey), publicKey: keyOf(createPublicKey(privateKey)) }
    },
    importKey: async (_format: string, bytes: Buffer) =>
      keyOf(createPrivateKey({ key: bytes, format: 'der', type: 'pkcs8' })),
    exportKey: objectSubtle.exportKey,
    sign: objectSubtle.sign,
  }
  const crypto = { subtle, getRandomValues: (into: Uint8Array) => Uint8Array.from(random.bytes(into.length)) }
  // The library is imported statically, because a later import would wait for the disk.
  return {
    crypto: crypto as unknown as webcrypto.Crypto,
    authority: SIGNING,
    client: CLIENT,
    loadLibrary: async () => x509,
  }
}

/** Creates a private key from the random source. Any positive number below the order of the curve is a private key. */
const ecKey = (crv: EcCurve, random: Random): KeyObject => {
  const { name, bytes } = CURVES[crv]
  const pair = createECDH(name)
  const number = Buffer.concat([Buffer.alloc(1), random.bytes(bytes - 1)])
  pair.setPrivateKey(number)
  const point = pair.getPublicKey()
  const [d, x, y] = [number, point.subarray(1, 1 + bytes), point.subarray(1 + bytes)].map((one) =>
    one.toString('base64url'),
  )
  return createPrivateKey({ key: { kty: 'EC', crv, d, x, y } as JsonWebKey, format: 'jwk' })
}

type EcCurve = Extract<PairKind, { readonly type: 'ec' }>['curve']

/** Per curve, its name in OpenSSL, and the length of a private key and of each coordinate in bytes. */
const CURVES = {
  'P-256': { name: 'prime256v1', bytes: 32 },
  'P-384': { name: 'secp384r1', bytes: 48 },
  'P-521': { name: 'secp521r1', bytes: 66 },
} as const satisfies Record<EcCurve, unknown>

/**
 * Returns a function that creates keys from the random source. RSA keys are not deterministic, since the library
 * generates them.
 */
export const simulatedPrivateKeys = (random: Random): MakePrivateKey => {
  const make = (kind: PairKind): KeyObject => {
    if (kind.type === 'ed25519') return privateKeyOf(ed25519KeyBytes(random.bytes(32)))
    if (kind.type === 'ec') return ecKey(kind.curve, random)
    return generateKeyPairSync('rsa', { modulusLength: kind.bits }).privateKey
  }
  return async (kind) => make(kind).export({ format: 'der', type: 'pkcs8' })
}

const HEADER = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString('base64url')

/** Creates keys for JWTs that are authenticated with HMAC-SHA-256 instead of a signature. */
export const simulatedJwtKeys = (random: Random): JwtKeys => ({
  create: () => random.bytes(32),
  open: (key) => {
    const signature = (text: string) => createHmac('sha256', key).update(text).digest()
    return {
      sign: async (claims) => {
        const text = `${HEADER}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`
        return `${text}.${signature(text).toString('base64url')}`
      },
      verify: async (token) => {
        const at = token.lastIndexOf('.')
        const given = Buffer.from(token.slice(at + 1), 'base64url')
        const right = signature(token.slice(0, at))
        return given.length === right.length && timingSafeEqual(given, right) ? peekClaims(token) : undefined
      },
    }
  },
})
