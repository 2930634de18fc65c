/** SSH keys: public keys as clients send them, and private keys in the formats of OpenSSH and PEM. */
import { createPrivateKey, createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { attempt } from '../../base/attempt.js'
import { findBase64Mistake } from '../../base/base64.js'
import {
  ed25519KeyBytes,
  ed25519PublicBytes,
  ed25519SeedOf,
  type PairKind,
  privateKeyOf,
  privatePemOf,
  publicKeyOf,
} from '../../crypto/key-pairs.js'
import { invalid } from '../../logical/errors.js'
import { uint32, WireReader, wireInteger, wireString } from './wire.js'

/** A public key. `fields` is its encoding without the type. */
export interface PublicKey {
  /** For example `ssh-ed25519`. */
  readonly type: string
  readonly blob: Buffer
  readonly fields: Buffer
  readonly bits: number
}

/** The number of fields of each type of key, after its type. */
const FIELD_COUNTS: Readonly<Record<string, number>> = {
  'ssh-rsa': 2,
  'ssh-ed25519': 1,
  'ecdsa-sha2-nistp256': 2,
  'ecdsa-sha2-nistp384': 2,
  'ecdsa-sha2-nistp521': 2,
  'sk-ssh-ed25519@openssh.com': 2,
  'sk-ecdsa-sha2-nistp256@openssh.com': 3,
}

/** Reads `TYPE BASE64 COMMENT`, or the Base64 alone. Throws an error whose text says what is wrong. */
export const parsePublicKey = (text: string): PublicKey => {
  const [first = '', second] = text.trim().split(' ')
  const blob = decodeBase64(second ?? first)
  const reader = new WireReader(blob)
  const type = reader.string().toString()
  const count = Object.hasOwn(FIELD_COUNTS, type) ? FIELD_COUNTS[type] : undefined
  if (count === undefined) throw new Error(`ssh: unknown key algorithm: ${type}`)
  const values = Array.from({ length: count }, () => reader.string())
  if (!reader.isAtEnd) throw new Error('ssh: trailing data after the key')
  checkFields(type, values)
  const fields = blob.subarray(wireString(type).length)
  return { type, blob, fields, bits: bitsOf(type, values) }
}

/** Throws an error unless the fields are a key: OpenSSH would reject a certificate of anything else. */
const checkFields = (type: string, [first = Buffer.alloc(0), second = Buffer.alloc(0)]: readonly Buffer[]): void => {
  if (type === 'ssh-rsa') {
    const exponent = numberOf(first)
    if (exponent < 3n || exponent % 2n === 0n || exponent >= 1n << 31n) throw new Error('ssh: incorrect exponent')
    return
  }
  if (type.includes('ed25519')) {
    if (first.length !== 32) throw new Error(`invalid size ${first.length} for Ed25519 public key`)
    return
  }
  const [, bits = ''] = /nistp(\d+)/.exec(type) ?? []
  const size = Math.ceil(Number(bits) / 8)
  const [x, y] = [second.subarray(1, 1 + size), second.subarray(1 + size)]
  const jwk = { kty: 'EC', crv: `P-${bits}`, x: textOf(x), y: textOf(y) }
  const isPoint = first.toString() === `nistp${bits}` && second[0] === UNCOMPRESSED && y.length === size
  if (!isPoint || !attempt(() => createPublicKey({ key: jwk, format: 'jwk' })))
    throw new Error('ssh: invalid curve point')
}

const decodeBase64 = (text: string): Buffer => {
  const position = findBase64Mistake(text)
  if (position !== undefined) throw new Error(`illegal base64 data at input byte ${position}`)
  return Buffer.from(text, 'base64')
}

const bitsOf = (type: string, [, modulus]: readonly Buffer[]): number => {
  if (type === 'ssh-rsa') return numberOf(modulus).toString(2).length
  return Number(/\d{3}$/.exec(type)?.[0] ?? 256)
}

/** Returns the encoding of a public or private key as a public key. */
export const publicBlobOf = (key: KeyObject): Buffer => {
  const jwk = publicKeyOf(key).export({ format: 'jwk' })
  if (jwk.kty === 'RSA') return Buffer.concat([wireString('ssh-rsa'), ...[jwk.e, jwk.n].map(bytesOf).map(wireInteger)])
  if (jwk.kty === 'OKP') return Buffer.concat([wireString('ssh-ed25519'), wireString(bytesOf(jwk.x))])
  const curve = `nistp${jwk.crv?.slice(2)}`
  const point = Buffer.concat([Buffer.of(UNCOMPRESSED), bytesOf(jwk.x), bytesOf(jwk.y)])
  return Buffer.concat([`ecdsa-sha2-${curve}`, curve, point].map(wireString))
}

const UNCOMPRESSED = 4
const bytesOf = (text: string | undefined): Buffer => Buffer.from(text ?? '', 'base64url')

/** Returns a public key as a line of a file, without a comment. */
export const publicLineOf = (key: KeyObject): string => {
  const blob = publicBlobOf(key)
  return `${new WireReader(blob).string()} ${blob.toString('base64')}\n`
}

/** Returns the type of key pair of a name of the API. Throws LogicalError 400 for unknown names and lengths. */
export const pairKindOf = (name: string, bits: number): PairKind => {
  if (name === 'ed25519' || name === 'ssh-ed25519') return { type: 'ed25519' }
  if (name === 'rsa' || name === 'ssh-rsa') {
    const length = RSA_BITS.find((candidate) => candidate === (bits || DEFAULT_RSA_BITS))
    if (length) return { type: 'rsa', bits: length }
    if (bits < 2048) throw invalid(`refusing to generate weak rsa key: ${bits} bits < 2048 bits`)
    throw invalid(`unsupported number of bits of an rsa key: ${bits}; use 2048, 3072, 4096 or 8192`)
  }
  const [, named] = /^ecdsa-sha2-nistp(256|384|521)$/.exec(name) ?? []
  if (name !== 'ec' && !named) throw invalid(`unknown ssh key pair algorithm: ${name}`)
  const size = CURVE_BITS.find((candidate) => candidate === Number(named ?? (bits || 256)))
  if (!size) throw invalid(`unknown ECDSA key pair algorithm and bits: ${name} / ${bits}`)
  return { type: 'ec', curve: `P-${size}` }
}

const RSA_BITS = [2048, 3072, 4096, 8192] as const
const DEFAULT_RSA_BITS = 4096
const CURVE_BITS = [256, 384, 521] as const

const MAGIC = Buffer.from('openssh-key-v1\0')
const [BEGIN, END] = ['-----BEGIN OPENSSH PRIVATE KEY-----', '-----END OPENSSH PRIVATE KEY-----']

/** Reads a private key in PEM or in the format of OpenSSH. Throws an error if it is invalid or encrypted. */
export const parsePrivateKey = (text: string): KeyObject => {
  const [encoded] = text.includes(BEGIN) ? (text.split(BEGIN)[1] ?? '').split(END) : []
  const key =
    encoded === undefined ? attempt(() => createPrivateKey(text)) : parseOpenSsh(Buffer.from(encoded, 'base64'))
  if (!key || !['rsa', 'ec', 'ed25519'].includes(key.asymmetricKeyType ?? '')) throw new Error('ssh: no key found')
  return key
}

/** Reads the format of OpenSSH, which its file PROTOCOL.key describes. */
const parseOpenSsh = (bytes: Buffer): KeyObject => {
  const reader = new WireReader(bytes)
  if (!reader.take(MAGIC.length).equals(MAGIC)) throw new Error('ssh: invalid openssh private key format')
  if (reader.string().toString() !== 'none') throw new Error('ssh: cannot decode encrypted private keys')
  reader.string()
  reader.string()
  if (reader.uint32() !== 1) throw new Error('ssh: the file must contain one key')
  reader.string()
  const secret = new WireReader(reader.string())
  const [check, again] = [secret.uint32(), secret.uint32()]
  if (check !== again) throw new Error('ssh: malformed OpenSSH key')
  const type = secret.string().toString()
  if (type === 'ssh-ed25519') {
    secret.string()
    return privateKeyOf(ed25519KeyBytes(secret.string().subarray(0, 32)))
  }
  const jwk = type === 'ssh-rsa' ? readRsa(secret) : readCurve(secret)
  return createPrivateKey({ key: jwk, format: 'jwk' })
}

const readRsa = (reader: WireReader): JsonWebKey => {
  const [n, e, d, qi, p, q] = Array.from({ length: 6 }, () => stripZeros(reader.string()))
  const reduced = (prime: Buffer | undefined) => bytesOfNumber(numberOf(d) % (numberOf(prime) - 1n))
  const values = { n, e, d, qi, p, q, dp: reduced(p), dq: reduced(q) }
  return { kty: 'RSA', ...Object.fromEntries(Object.entries(values).map(([name, value]) => [name, textOf(value)])) }
}

const readCurve = (reader: WireReader): JsonWebKey => {
  const bits = Number(reader.string().toString().slice('nistp'.length))
  const size = Math.ceil(bits / 8)
  const point = reader.string()
  const d = Buffer.concat([Buffer.alloc(size), reader.string()]).subarray(-size)
  const [x, y] = [point.subarray(1, 1 + size), point.subarray(1 + size)]
  return { kty: 'EC', crv: `P-${bits}`, x: textOf(x), y: textOf(y), d: textOf(d) }
}

const stripZeros = (bytes: Buffer): Buffer =>
  bytes.subarray(
    Math.max(
      0,
      bytes.findIndex((byte) => byte !== 0),
    ),
  )
const numberOf = (bytes: Buffer | undefined): bigint => BigInt(`0x${bytes?.toString('hex') || '0'}`)
const bytesOfNumber = (value: bigint): Buffer => {
  const hex = value.toString(16)
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex')
}
const textOf = (bytes: Buffer | undefined): string => (bytes ?? Buffer.alloc(0)).toString('base64url')

/** Returns a private key as text: PKCS 1 or SEC 1, and the format of OpenSSH for Ed25519. */
export const privateTextOf = (key: KeyObject, check: Buffer): string => {
  if (key.asymmetricKeyType !== 'ed25519') return privatePemOf(key)
  const publicBytes = ed25519PublicBytes(key)
  const seed = ed25519SeedOf(key.export({ format: 'der', type: 'pkcs8' }))
  const pair = [wireString('ssh-ed25519'), wireString(publicBytes), wireString(Buffer.concat([seed, publicBytes]))]
  const secret = Buffer.concat([check, check, ...pair, wireString('')])
  const padding = Buffer.from(Array.from({ length: (8 - (secret.length % 8)) % 8 }, (_, index) => index + 1))
  const heads = ['none', 'none', ''].map(wireString)
  const blobs = [publicBlobOf(key), Buffer.concat([secret, padding])].map(wireString)
  const encoded = Buffer.concat([MAGIC, ...heads, uint32(1), ...blobs]).toString('base64')
  const lines = encoded.match(/.{1,64}/g) ?? []
  return `${['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----'].join('\n')}\n`
}
