/**
 * JSON Web Tokens (JWTs) that are signed with ES512. Every change of a token must make the token invalid, but base64url
 * decoders accept some changed texts. Therefore only texts in canonical form are passed to the library.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { parseJsonObject } from '../base/json.js'

const ALGORITHM = 'ES512'

/** Loads the library at the first use, which shortens the startup of servers. */
const loadJose = () => import('jose')

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
