/**
 * JSON Web Signatures (RFC 7515) in compact form with the asymmetric algorithms of RFC 7518 and RFC 8037. The
 * signatures are verified synchronously, so that simulated clusters can verify them too.
 */
import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { attempt } from '../base/attempt.js'
import { isJsonObject, parseJsonObject } from '../base/json.js'
import { isJwt } from './jwt.js'
import type { HashName } from './digest.js'
import { isSignature, type SignatureScheme } from './signatures.js'

interface Algorithm {
  readonly scheme: SignatureScheme
  /** Returns whether a key can have this algorithm. */
  readonly fits: (key: KeyObject) => boolean
}

const rsa = (scheme: SignatureScheme): Algorithm => ({ scheme, fits: (key) => key.asymmetricKeyType === 'rsa' })
const pkcs1 = (hash: HashName) => rsa({ kind: 'rsa-pkcs1', hash })
const pss = (hash: HashName) => rsa({ kind: 'rsa-pss', hash, saltLength: 'hash' })
const ecdsa = (hash: HashName, curve: string): Algorithm => ({
  scheme: { kind: 'ecdsa', hash, encoding: 'ieee-p1363' },
  fits: (key) => key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === curve,
})

/** The algorithms by name. Symmetric algorithms and `none` are missing: a public key must never verify an HMAC. */
const ALGORITHMS: ReadonlyMap<string, Algorithm> = new Map([
  ['RS256', pkcs1('sha256')],
  ['RS384', pkcs1('sha384')],
  ['RS512', pkcs1('sha512')],
  ['PS256', pss('sha256')],
  ['PS384', pss('sha384')],
  ['PS512', pss('sha512')],
  ['ES256', ecdsa('sha256', 'prime256v1')],
  ['ES384', ecdsa('sha384', 'secp384r1')],
  ['ES512', ecdsa('sha512', 'secp521r1')],
  ['EdDSA', { scheme: { kind: 'ed25519' }, fits: (key) => key.asymmetricKeyType === 'ed25519' }],
])

export const JWS_ALGORITHMS: readonly string[] = [...ALGORITHMS.keys()]

/** A public key. `id` and `algorithm` limit the signatures that it verifies; undefined means no limit. */
export interface VerificationKey {
  readonly key: KeyObject
  readonly id?: string | undefined
  readonly algorithm?: string | undefined
}

/** A signature whose header and form are valid. It is not verified yet. */
export interface Jws {
  readonly algorithm: string
  readonly keyId: string | undefined
  readonly payload: Buffer
  /** Returns whether one of the keys verifies the signature. */
  isSignedBy(keys: readonly VerificationKey[]): boolean
}

/**
 * Parses a signature in compact form. Returns undefined if the form is invalid, if the algorithm is unknown, or if the
 * header requires an extension (`crit`), because this code supports none.
 */
export const parseJws = (text: string): Jws | undefined => {
  if (!isJwt(text)) return undefined
  const [head = '', payload = '', signature = ''] = text.split('.')
  const header = parseJsonObject(Buffer.from(head, 'base64url'))
  const { alg, kid, crit } = header ?? {}
  const found = typeof alg === 'string' ? ALGORITHMS.get(alg) : undefined
  if (typeof alg !== 'string' || !found || crit !== undefined) return undefined
  const keyId = typeof kid === 'string' ? kid : undefined
  const mayVerify = ({ key, id, algorithm = alg }: VerificationKey) =>
    algorithm === alg && found.fits(key) && (keyId === undefined || id === undefined || id === keyId)
  const [data, bytes] = [Buffer.from(`${head}.${payload}`), Buffer.from(signature, 'base64url')]
  return {
    algorithm: alg,
    keyId,
    payload: Buffer.from(payload, 'base64url'),
    isSignedBy: (keys) => keys.some((one) => mayVerify(one) && isSignature(one.key, found.scheme, data, bytes)),
  }
}

/** Parses a public key or a certificate in PEM. Returns undefined if it is neither, or if no algorithm can use it. */
export const parsePublicKey = (pem: string): VerificationKey | undefined =>
  // Node accepts a private key as well, but a configuration that clients can read must not contain one.
  pem.includes('PRIVATE KEY') ? undefined : usable(attempt(() => createPublicKey(pem)))

/**
 * Parses a JSON Web Key Set. Skips keys of other types and for other uses, as RFC 7517 requires. Returns undefined if
 * the bytes are not a key set.
 */
export const parseKeySet = (bytes: Buffer): readonly VerificationKey[] | undefined => {
  const document = parseJsonObject(bytes)
  const keys = document?.keys ?? []
  if (!document || !Array.isArray(keys)) return undefined
  return keys.flatMap((jwk: unknown) => {
    if (!isJsonObject(jwk) || (jwk.use !== undefined && jwk.use !== 'sig')) return []
    const found = usable(attempt(() => createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' })))
    return found ? [{ key: found.key, id: textOf(jwk.kid), algorithm: textOf(jwk.alg) }] : []
  })
}

const usable = (key: KeyObject | undefined): VerificationKey | undefined =>
  key && [...ALGORITHMS.values()].some(({ fits }) => fits(key)) ? { key } : undefined

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
