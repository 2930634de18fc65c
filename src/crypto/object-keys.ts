/** The part of Web Crypto that the certificate library uses, for keys of `node:crypto` and without threads. */
import {
  constants,
  createPublicKey,
  type KeyObject,
  sign,
  type SignKeyObjectInput,
  verify,
  type webcrypto,
} from 'node:crypto'

export interface SigningAlgorithm {
  readonly name: string
  /** The name of a hash in Web Crypto, such as `SHA-256`. The library sometimes passes it as an object. */
  readonly hash?: string | { readonly name: string }
  readonly namedCurve?: string
  readonly saltLength?: number
}

/** A key that the certificate library accepts. */
export interface ObjectKey {
  readonly type: 'private' | 'public'
  readonly algorithm: SigningAlgorithm
  readonly key: KeyObject
  readonly [Symbol.toStringTag]: 'CryptoKey'
}

export const objectKey = (key: KeyObject, algorithm: SigningAlgorithm): ObjectKey => ({
  type: key.type === 'private' ? 'private' : 'public',
  algorithm,
  key,
  [Symbol.toStringTag]: 'CryptoKey',
})

const exported = ({ key, type }: ObjectKey): Buffer =>
  type === 'private' ? key.export({ format: 'der', type: 'pkcs8' }) : key.export({ format: 'der', type: 'spki' })

/** Returns the name of the hash in `node:crypto`; null for algorithms that hash the data themselves. */
const hashOf = ({ name, hash }: SigningAlgorithm): string | null => {
  // The library adds a default hash to every algorithm.
  if (name === 'Ed25519') return null
  return (typeof hash === 'string' ? hash : hash?.name)?.replace('-', '').toLowerCase() ?? null
}

const inputOf = ({ name, saltLength }: SigningAlgorithm, key: KeyObject): SignKeyObjectInput =>
  name === 'RSA-PSS'
    ? { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: saltLength ?? constants.RSA_PSS_SALTLEN_DIGEST }
    : { key, dsaEncoding: 'ieee-p1363' }

const copyOf = (bytes: Buffer): ArrayBuffer => Uint8Array.from(bytes).buffer

/** Signs data. ECDSA signatures are DER, as certificates contain them. */
export const signDer = (algorithm: SigningAlgorithm, key: KeyObject, data: Buffer): Buffer =>
  sign(hashOf(algorithm), data, { ...inputOf(algorithm, key), dsaEncoding: 'der' })

export const objectSubtle = {
  exportKey: async (_format: string, key: ObjectKey) => copyOf(exported(key)),
  importKey: async (_format: string, spki: ArrayBuffer, algorithm: SigningAlgorithm) =>
    objectKey(createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' }), algorithm),
  sign: async (algorithm: SigningAlgorithm, { key }: ObjectKey, data: ArrayBuffer) =>
    copyOf(sign(hashOf(algorithm), Buffer.from(data), inputOf(algorithm, key))),
  verify: async (algorithm: SigningAlgorithm, { key }: ObjectKey, signature: ArrayBuffer, data: ArrayBuffer) =>
    verify(hashOf(algorithm), Buffer.from(data), inputOf(algorithm, key), Buffer.from(signature)),
}

/** Web Crypto for keys of `node:crypto`. The library only uses it for keys and signatures. */
export const objectCrypto = { subtle: objectSubtle } as unknown as webcrypto.Crypto
