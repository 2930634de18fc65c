/**
 * JSON web tokens signed with ES512. The library is given texts only after they were found to be in their one canonical
 * spelling: decoders of base64url let some changed texts pass, and a token must not survive any change.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'

const ALGORITHM = 'ES512'

/** Loaded at the first use, so that servers start sooner. */
const loadJose = () => import('jose')

export type JwtClaims = { readonly [name: string]: unknown }

/** Signs for one cluster, and knows its own signatures again. */
export interface JwtKey {
  sign(claims: JwtClaims): Promise<string>
  /** The claims, or undefined when the text is not exactly what this key signed. Times are not looked at. */
  verify(text: string): Promise<JwtClaims | undefined>
}

/** Makes signing keys and opens them again; a key is PKCS 8 DER where it is stored. */
export interface JwtKeys {
  create(): Buffer
  open(pkcs8: Buffer): JwtKey
}

/** A new P-521 key as PKCS 8 DER, for storage. */
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
  try {
    const { payload } = await compactVerify(text, publicKey, { algorithms: [ALGORITHM] })
    return parseClaims(Buffer.from(payload))
  } catch {
    return undefined
  }
}

/** The claims of a token without a look at its signature: a secondary reads from them whom to ask. Undefined for other texts. */
export const peekClaims = (text: string): JwtClaims | undefined => {
  const [, payload] = text.split('.')
  return isJwt(text) && payload !== undefined ? parseClaims(Buffer.from(payload, 'base64url')) : undefined
}

/** Three parts, each spelled as an encoder spells it: no padding, no stray characters, no stray last bits. */
export const isJwt = (text: string): boolean => {
  const parts = text.split('.')
  return parts.length === 3 && parts.every((part) => part !== '' && isCanonical(part))
}

const isCanonical = (part: string): boolean => Buffer.from(part, 'base64url').toString('base64url') === part

const parseClaims = (bytes: Buffer): JwtClaims | undefined => {
  try {
    const parsed: unknown = JSON.parse(bytes.toString('utf8'))
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? { ...parsed } : undefined
  } catch {
    return undefined
  }
}
