/**
 * JSON Web Tokens (JWTs) that are signed with ES512. Every change of a token must make the token invalid, but base64url
 * decoders accept some changed texts. Therefore only texts in canonical form are passed to the library.
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign as signBytes,
  verify as verifyBytes,
} from 'node:crypto'
import { promisify } from 'node:util'
import { parseJsonObject } from '../base/json.js'

const ALGORITHM = 'ES512'

/** The header of every token. A token with another header is not one of this server. */
const HEADER = Buffer.from(JSON.stringify({ alg: ALGORITHM, typ: 'JWT' })).toString('base64url')

/** Both run in the thread pool. A signature has two numbers of 66 bytes, as RFC 7518 requires. */
const [signAsync, verifyAsync] = [promisify(signBytes), promisify(verifyBytes)]
const HASH = 'sha512'
const ENCODING = 'ieee-p1363'

export type JwtClaims = { readonly [name: string]: unknown }

/** Signs tokens of one cluster, and verifies signatures of the same key. */
export interface JwtKey {
  sign(claims: JwtClaims): Promise<string>
  /** Returns the claims. Returns undefined if this key has not signed exactly this text. Does not check the expiry. */
  verify(text: string): Promise<JwtClaims | undefined>
}

/** Creates and opens signing keys. A stored key is PKCS 8 DER. */
export interface JwtKeys {
  create(): Buffer
  open(pkcs8: Buffer): JwtKey
}

/** Returns a new P-521 key as PKCS 8 DER. */
export const createSigningKey = (): Buffer =>
  generateKeyPairSync('ec', { namedCurve: 'P-521' }).privateKey.export({ format: 'der', type: 'pkcs8' })

export const openSigningKey = (pkcs8: Buffer): JwtKey => {
  const privateKey = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
  const publicKey = createPublicKey(privateKey)
  return {
    sign: async (claims) => {
      const text = `${HEADER}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`
      const signature = await signAsync(HASH, Buffer.from(text), { key: privateKey, dsaEncoding: ENCODING })
      return `${text}.${signature.toString('base64url')}`
    },
    verify: (text) => verify(text, publicKey),
  }
}

export const P521_JWT_KEYS: JwtKeys = { create: createSigningKey, open: openSigningKey }

const verify = async (text: string, publicKey: KeyObject): Promise<JwtClaims | undefined> => {
  const [header, payload = '', signature = ''] = text.split('.')
  if (!isJwt(text) || header !== HEADER) return undefined
  const signed = Buffer.from(`${header}.${payload}`)
  const key = { key: publicKey, dsaEncoding: ENCODING } as const
  const isValid = await verifyAsync(HASH, signed, key, Buffer.from(signature, 'base64url')).catch(() => false)
  return isValid ? parseClaims(Buffer.from(payload, 'base64url')) : undefined
}

/**
 * Returns the claims of a token without a check of its signature. A secondary reads the primary's address from them.
 * Returns undefined if the text is not a token.
 */
export const peekClaims = (text: string): JwtClaims | undefined => {
  const [, payload] = text.split('.')
  return isJwt(text) && payload !== undefined ? parseClaims(Buffer.from(payload, 'base64url')) : undefined
}

/** Returns true if the text has three parts in canonical base64url: no padding, invalid characters or extra bits. */
export const isJwt = (text: string): boolean => {
  const parts = text.split('.')
  return parts.length === 3 && parts.every((part) => part !== '' && isCanonical(part))
}

const isCanonical = (part: string): boolean => Buffer.from(part, 'base64url').toString('base64url') === part

const parseClaims = (bytes: Buffer): JwtClaims | undefined => {
  const claims = parseJsonObject(bytes)
  return Array.isArray(claims) ? undefined : claims
}
