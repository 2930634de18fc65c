/** Creates and verifies signatures and HMACs with the versions of a key. */
import type { Random } from '../../base/random.js'
import { isSameSecret } from '../../crypto/constant-time.js'
import { type HashName, hmacBytes } from '../../crypto/digest.js'
import { isDerSignature, loadCurve, type PssSaltLength } from '../../crypto/digest-signatures.js'
import { ed25519PublicBytes, privateKeyOf } from '../../crypto/key-pairs.js'
import { isSignature, type SignatureScheme, signBytes } from '../../crypto/signatures.js'
import { invalid } from '../../logical/errors.js'
import { decodeBase64 } from './batch.js'
import { privateKeyBytes } from './derivation.js'
import { type KeyRecord, typeOf, versionOf } from './key-record.js'
import { formatVersioned, HMAC, parseVersioned, pickVersion, SIGNATURE } from './versioned.js'

/** Hash algorithms by their names in the API. */
const HASHES: Readonly<Record<string, HashName>> = {
  sha1: 'sha1',
  'sha2-224': 'sha224',
  'sha2-256': 'sha256',
  'sha2-384': 'sha384',
  'sha2-512': 'sha512',
  'sha3-224': 'sha3-224',
  'sha3-256': 'sha3-256',
  'sha3-384': 'sha3-384',
  'sha3-512': 'sha3-512',
}

export const DEFAULT_HASH = 'sha2-256'

/** Finds a hash algorithm. Returns undefined for an unknown name. */
export const findHash = (name: string): HashName | undefined => (Object.hasOwn(HASHES, name) ? HASHES[name] : undefined)

/** The signing parameters of a request, with the values of the API. */
interface SigningOptions {
  readonly hash: string
  readonly prehashed: boolean
  readonly signatureAlgorithm: string
  readonly marshaling: string
  readonly saltLength: string
  readonly random: Random
}

/**
 * Resolves to the signature scheme of a key with these options. Rejects with LogicalError 400 if the key or this server
 * does not support the options.
 */
export const schemeOf = async (
  record: KeyRecord,
  options: SigningOptions,
  use: 'signing' | 'verification',
): Promise<SignatureScheme> => {
  const type = typeOf(record)
  if (!type.signs || type.form !== 'pair') throw invalid(`key type ${type.name} does not support ${use}`)
  const hash = findHash(options.hash)
  if (options.hash !== 'none' && !hash) throw invalid(`invalid hash algorithm "${options.hash}"`)
  if (options.marshaling !== 'asn1' && options.marshaling !== 'jws') {
    throw invalid(`invalid marshaling type "${options.marshaling}"`)
  }
  if (type.pair.type === 'rsa') return rsaScheme(options, hash)
  if (type.pair.type === 'ed25519') {
    if (options.prehashed) throw invalid(`prehashed input is not supported for keys of type ${type.name}`)
    return { kind: 'ed25519' }
  }
  const encoding = options.marshaling === 'jws' ? 'ieee-p1363' : 'der'
  if (options.prehashed) return { kind: 'ecdsa-digest', curve: await loadCurve(type.pair.curve), encoding }
  if (!hash) throw invalid('hash_algorithm=none is valid only for RSA keys')
  return { kind: 'ecdsa', hash, encoding }
}

const rsaScheme = (options: SigningOptions, hash: HashName | undefined): SignatureScheme => {
  const { signatureAlgorithm, prehashed, random } = options
  const algorithm = signatureAlgorithm || 'pss'
  if (algorithm !== 'pss' && algorithm !== 'pkcs1v15') throw invalid(`unsupported rsa signature algorithm ${algorithm}`)
  if (algorithm === 'pkcs1v15') {
    if (prehashed) return { kind: 'rsa-pkcs1-digest', hash }
    if (hash) return { kind: 'rsa-pkcs1', hash }
  }
  if (!hash) throw invalid('hash_algorithm=none requires both prehashed=true and signature_algorithm=pkcs1v15')
  const saltLength = parseSaltLength(options.saltLength)
  return prehashed ? { kind: 'rsa-pss-digest', hash, saltLength, random } : { kind: 'rsa-pss', hash, saltLength }
}

const parseSaltLength = (text: string): PssSaltLength => {
  if (text === 'auto' || text === 'hash') return text
  if (!/^-?\d{1,4}$/.test(text)) throw invalid(`salt length neither 'auto', 'hash', nor an int: ${text}`)
  const length = Number(text)
  if (length < -1) throw invalid(`salt length is invalid: ${length}`)
  return NAMED_SALT_LENGTHS[length] ?? length
}

/** The numbers that stand for a name. */
const NAMED_SALT_LENGTHS: Readonly<Record<number, PssSaltLength>> = { [-1]: 'hash', 0: 'auto' }

interface ToSign {
  readonly input: Buffer
  readonly context: Buffer
}

interface Signed {
  readonly signature: string
  readonly version: number
  /** The public key of a derived key, which clients need to verify the signature; undefined for other keys. */
  readonly publicKey: string | undefined
}

const encodingOf = (scheme: SignatureScheme) =>
  'encoding' in scheme && scheme.encoding === 'ieee-p1363' ? 'base64url' : 'base64'

export const signItem = (
  record: KeyRecord,
  scheme: SignatureScheme,
  { input, context }: ToSign,
  wanted: number,
): Signed => {
  const version = pickVersion(record, wanted, 'signing')
  const key = privateKeyOf(privateKeyBytes(record, version, context))
  const signature = signBytes(key, scheme, input)
  if (!signature) throw invalid('the key cannot sign this input with these parameters')
  return {
    signature: formatVersioned(version, signature.toString(encodingOf(scheme))),
    version,
    publicKey: record.derived ? ed25519PublicBytes(key).toString('base64') : undefined,
  }
}

export const isSigned = (
  record: KeyRecord,
  scheme: SignatureScheme,
  { input, context }: ToSign,
  signature: string,
): boolean => {
  const { version, rest } = parseVersioned(record, signature, SIGNATURE)
  const encoding = encodingOf(scheme)
  const alphabet = encoding === 'base64' ? /^[A-Za-z0-9+/]+={0,2}$/ : /^[A-Za-z0-9_-]+$/
  if (!alphabet.test(rest)) throw invalid('invalid base64 signature value')
  const bytes = Buffer.from(rest, encoding)
  if ('encoding' in scheme && scheme.encoding === 'der' && !isDerSignature(bytes)) {
    throw invalid('supplied signature is invalid')
  }
  const key = privateKeyOf(privateKeyBytes(record, version, context))
  return isSignature(key, scheme, input, bytes)
}

const hmacOf = (record: KeyRecord, version: number, hash: HashName, input: Buffer): Buffer =>
  hmacBytes(hash, Buffer.from(versionOf(record, version).hmacKey, 'base64'), input)

export const makeHmac = (record: KeyRecord, hash: HashName, input: Buffer, wanted: number): string => {
  const version = wanted === 0 ? record.latestVersion : wanted
  if (version < 0) throw invalid('key version does not exist (cannot be negative)')
  if (version < Math.max(record.minEncryptionVersion, record.minDecryptionVersion)) {
    throw invalid('cannot generate HMAC: version is too old (disallowed by policy)')
  }
  if (version > record.latestVersion) {
    throw invalid(`key version does not exist; latest key version is ${record.latestVersion}`)
  }
  return formatVersioned(version, hmacOf(record, version, hash, input).toString('base64'))
}

const UNDECODABLE_HMAC = 'unable to decode verification HMAC as base64: '

export const isHmac = (record: KeyRecord, hash: HashName, input: Buffer, hmac: string): boolean => {
  const { version, rest } = parseVersioned(record, hmac, HMAC)
  return isSameSecret(hmacOf(record, version, hash, input), decodeBase64(rest, UNDECODABLE_HMAC))
}
