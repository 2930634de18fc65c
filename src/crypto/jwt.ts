/**
 * JSON Web Tokens signed with ES512. A text is passed to the library only if it is in canonical form: base64url
 * decoders accept some modified texts, but every change must make a token invalid.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { parseJsonObject } from '../base/json.js'

const ALGORITHM = 'ES512'

/** Loads the library at the first use, so that servers start faster. */
const loadJose = () => import('jose')

export type JwtClaims = { readonly [name: string]: unknown }

/** Signs tokens for one cluster and verifies its own signatures. */
export interface JwtKey {
  sign(claims: JwtClaims): Promise<string>
  /** Returns the claims; undefined if this key did not sign exactly this text. Times are not checked. */
  verify(text: string): Promise<JwtClaims | undefined>
}

/** Creates and loads signing keys. Stored keys are PKCS 8 DER. */
export interface JwtKeys {
  create(): Buffer
  open(pkcs8: Buffer): JwtKey
}

/** Returns a new P-521 key as PKCS 8 DER, for storage. */
export const createSigningKey = (): Buffer =>
  generateKeyPairSync('ec', { namedCurve: 'P-521' }).privateKey.export({ format: 'der', type: 'pkcs8' })

export const openSigningKey = (pkcs8: Buffer): JwtKey => {
  const privateKey = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
  const publicKey = createPublicKey(privateKey)
  return {
    sign: async (claims) => {
      const { CompactSign } = await loadJose()
      const payload = Buffer.from(JSON.stringify(claims))
      return new CompactSign(payload).setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' }).sign(privateKey)
    },
    verify: (text) => verify(text, publicKey),
  }
}

export const P521_JWT_KEYS: JwtKeys = { create: createSigningKey, open: openSigningKey }

const verify = async (text: string, publicKey: KeyObject): Promise<JwtClaims | undefined> => {
  if (!isJwt(text)) return undefined
  const { compactVerify } = await loadJose()
  const verified = await compactVerify(text, publicKey, { algorithms: [ALGORITHM] }).catch(() => undefined)
  return verified && parseClaims(Buffer.from(verified.payload))
}

/**
 * Returns the claims of a token without verifying its signature. A secondary uses them to find the primary's address.
 * Returns undefined for other texts.
 */
export const peekClaims = (text: string): JwtClaims | undefined => {
  const [, payload] = text.split('.')
  return isJwt(text) && payload !== undefined ? parseClaims(Buffer.from(payload, 'base64url')) : undefined
}

/** Returns true for three parts, each in canonical encoding: no padding, no invalid characters, no extra bits. */
export const isJwt = (text: string): boolean => {
  const parts = text.split('.')
  return parts.length === 3 && parts.every((part) => part !== '' && isCanonical(part))
}

const isCanonical = (part: string): boolean => Buffer.from(part, 'base64url').toString('base64url') === part

const parseClaims = (bytes: Buffer): JwtClaims | undefined => {
  const claims = parseJsonObject(bytes)
  return Array.isArray(claims) ? undefined : claims
}
