/** The types of keys, and the texts in which responses contain private keys. */
import type { KeyObject } from 'node:crypto'
import type { PairKind } from '../../crypto/key-pairs.js'
import { invalid } from '../../logical/errors.js'

export type KeyTypeName = 'rsa' | 'ec' | 'ed25519'

/** The pairs by type and number of bits. The first number of each type is the default. */
const PAIRS: Readonly<Record<KeyTypeName, Readonly<Record<string, PairKind>>>> = {
  rsa: {
    2048: { type: 'rsa', bits: 2048 },
    3072: { type: 'rsa', bits: 3072 },
    4096: { type: 'rsa', bits: 4096 },
    8192: { type: 'rsa', bits: 8192 },
  },
  ec: {
    256: { type: 'ec', curve: 'P-256' },
    384: { type: 'ec', curve: 'P-384' },
    521: { type: 'ec', curve: 'P-521' },
  },
  ed25519: { 0: { type: 'ed25519' } },
}

const LABELS = { rsa: 'RSA', ec: 'EC', ed25519: 'Ed25519' } as const

const isKeyType = (type: string): type is KeyTypeName => Object.hasOwn(PAIRS, type)

/** Returns the number of bits of a new key of this type, which Ed25519 ignores. Throws LogicalError 400. */
export const parseKeyBits = (type: string, bits: number): number => {
  if (!isKeyType(type)) throw invalid(`unknown key type ${type}`)
  const known = Object.keys(PAIRS[type])
  if (type === 'ed25519') return bits
  if (bits === 0) return Number(known[0])
  if (type === 'ec' && bits === 224) throw invalid('keys of the curve P-224 are not supported: use 256, 384 or 521')
  if (type === 'rsa' && bits < 2048) {
    throw invalid(`RSA keys < 2048 bits are unsafe and not supported: got ${bits}`)
  }
  if (!known.includes(String(bits))) throw invalid(`unsupported bit length for ${LABELS[type]} key: ${bits}`)
  return bits
}

/** Returns the kind of the key pair. Throws LogicalError 400 for an unknown type or number of bits. */
export const pairOf = (type: string, bits: number): { readonly type: KeyTypeName; readonly pair: PairKind } => {
  const number = parseKeyBits(type, bits)
  const pair = isKeyType(type) ? PAIRS[type][type === 'ed25519' ? 0 : number] : undefined
  if (!pair || !isKeyType(type)) throw invalid(`unknown key type ${type}`)
  return { type, pair }
}

/** The bits of elliptic curves by their names in OpenSSL. */
const CURVE_BITS: Readonly<Record<string, number>> = {
  secp224r1: 224,
  prime256v1: 256,
  secp384r1: 384,
  secp521r1: 521,
}

/** Returns the type and the bits of a key; undefined for a key of another type. */
export const describeKey = (key: KeyObject): { readonly type: KeyTypeName; readonly bits: number } | undefined => {
  const { asymmetricKeyType: type = '', asymmetricKeyDetails: details } = key
  if (!isKeyType(type)) return undefined
  if (type === 'rsa') return { type, bits: details?.modulusLength ?? 0 }
  if (type === 'ed25519') return { type, bits: 0 }
  const bits = CURVE_BITS[details?.namedCurve ?? '']
  return bits === undefined ? undefined : { type, bits }
}

const TRADITIONAL = { rsa: 'pkcs1', ec: 'sec1', ed25519: 'pkcs8' } as const

/**
 * Returns a private key as a response contains it: in DER or PEM, as PKCS 8 or in the form of its type, which is PKCS
 * 1, SEC 1 or, for Ed25519, PKCS 8. `form` is the parameter `private_key_format`.
 */
export const privateKeyText = (key: KeyObject, type: KeyTypeName, format = 'pem', form = 'der'): string => {
  const encoding = form === 'pkcs8' ? 'pkcs8' : TRADITIONAL[type]
  if (format === 'der') return Buffer.from(key.export({ format: 'der', type: encoding })).toString('base64')
  return String(key.export({ format: 'pem', type: encoding })).trim()
}
