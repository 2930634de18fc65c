import { attempt } from '../../base/attempt.js'
import { isJsonObject } from '../../base/json.js'
import type { Random } from '../../base/random.js'
import { AEAD_NONCE_BYTES, openSealed, sealInto } from '../../crypto/aead.js'
import { createExchangeKey, deriveSharedKey } from '../../crypto/exchange.js'
import { isCertificate } from '../../crypto/certificates.js'
import { fromP521Numbers, toP521Numbers } from '../../crypto/pem.js'
import type { JsonObject, JsonValue } from '../../logical/json.js'
import type { Kind } from '../model/types.js'

/**
 * The credentials with which a cluster joins a replication set. An activation token carries them in one of two forms:
 * - wrapped: a signed JWT that refers to the bundle at the primary's API; unwrapping consumes it
 * - sealed: the bundle itself, with its private key encrypted for a public key of the secondary; the primary's API is
 *   not called
 * In both forms, a signature or an authentication tag covers every part.
 */
export interface Bundle {
  readonly kind: Kind
  readonly setId: string
  readonly secondaryId: string
  /** DER-encoded. */
  readonly caCertificate: Buffer
  /** DER-encoded. */
  readonly certificate: Buffer
  /** PKCS 8, DER-encoded. */
  readonly privateKey: Buffer
  /** `https://host:port`. */
  readonly primaryClusterAddr: string
}

const MODE_NUMBERS: Readonly<Record<Kind, number>> = { dr: 512, performance: 64 }

const PURPOSE = 'replication activation token'

/** Encodes the bundle as the data of an unwrap response. */
export const encodeBundle = (bundle: Bundle): JsonObject => ({
  ...openPart(bundle),
  client_key: { type: 'p521', ...toP521Numbers(bundle.privateKey) },
  encrypted_client_key: null,
  nonce: null,
  primary_public_key: null,
})

const openPart = (bundle: Bundle): JsonObject => ({
  ca_cert: bundle.caCertificate.toString('base64'),
  client_cert: bundle.certificate.toString('base64'),
  cluster_id: bundle.setId,
  id: bundle.secondaryId,
  mode: MODE_NUMBERS[bundle.kind],
  primary_cluster_addr: bundle.primaryClusterAddr,
})

/** Creates the token for the holder of the private key of `publicKey`. Returns undefined if `publicKey` is invalid. */
export const sealBundle = (bundle: Bundle, publicKey: Buffer, random: Random): string | undefined => {
  const own = createExchangeKey()
  const key = deriveSharedKey(own.privateKey, publicKey, PURPOSE)
  if (!key) return undefined
  const part = { ...openPart(bundle), primary_public_key: own.publicKey.toString('base64') }
  const nonce = random.bytes(AEAD_NONCE_BYTES)
  const sealed = Buffer.alloc(bundle.privateKey.length + 28)
  sealInto(sealed, 0, key, nonce, bundle.privateKey, contextOf(part))
  const text = {
    ...part,
    client_key: null,
    encrypted_client_key: sealed.subarray(AEAD_NONCE_BYTES).toString('base64'),
    nonce: nonce.toString('base64'),
  }
  return Buffer.from(JSON.stringify(text)).toString('base64')
}

/**
 * Returns all fields except the encrypted key, in a fixed order. The encryption authenticates these fields: if one of
 * them was changed, decryption fails.
 */
const contextOf = (part: JsonObject): string =>
  JSON.stringify(
    ['ca_cert', 'client_cert', 'cluster_id', 'id', 'mode', 'primary_cluster_addr', 'primary_public_key'].map(
      (name) => part[name] ?? null,
    ),
  )

type ActivationToken =
  /** `address`: address of the primary's API; empty if the primary has no configured API address. */
  | { readonly form: 'wrapped'; readonly jwt: string; readonly address: string }
  | { readonly form: 'sealed'; readonly fields: JsonObject }

/** Detects the form of a token, without verifying it. Returns undefined if the text has neither form. */
export const parseActivationToken = (text: string): ActivationToken | undefined => {
  const parts = text.split('.')
  if (parts.length === 3) {
    const claims = parseObject(Buffer.from(parts[1] ?? '', 'base64url').toString('utf8'))
    if (!claims) return undefined
    return { form: 'wrapped', jwt: text, address: typeof claims.addr === 'string' ? claims.addr : '' }
  }
  if (!isCanonicalBase64(text)) return undefined
  const fields = parseObject(Buffer.from(text, 'base64').toString('utf8'))
  return fields?.encrypted_client_key === undefined ? undefined : { form: 'sealed', fields }
}

/** Decrypts the bundle of a sealed token. Returns undefined if the token was created for another key or was changed. */
export const openBundle = (fields: JsonObject, privateKey: Buffer): Bundle | undefined => {
  const key = deriveSharedKey(privateKey, bytesOf(fields.primary_public_key), PURPOSE)
  if (!key) return undefined
  const sealed = Buffer.concat([bytesOf(fields.nonce), bytesOf(fields.encrypted_client_key)])
  const opened = openSealed(key, sealed, contextOf(fields))
  return opened && assemble(fields, opened)
}

/** Parses the bundle of an unwrap response. Returns undefined if a field is missing or malformed. */
export const parseBundle = (data: JsonObject): Bundle | undefined => {
  const key = data.client_key
  if (!isJsonObject(key)) return undefined
  const { x, y, d } = key
  if (typeof x !== 'string' || typeof y !== 'string' || typeof d !== 'string') return undefined
  const privateKey = fromP521Numbers({ x, y, d })
  return privateKey && assemble(data, privateKey)
}

const assemble = (data: JsonObject, privateKey: Buffer): Bundle | undefined => {
  const kind = data.mode === MODE_NUMBERS.dr ? 'dr' : data.mode === MODE_NUMBERS.performance ? 'performance' : undefined
  const { cluster_id: setId, id: secondaryId, primary_cluster_addr: primaryClusterAddr } = data
  if (kind === undefined || typeof setId !== 'string' || setId === '') return undefined
  if (typeof secondaryId !== 'string' || secondaryId === '' || typeof primaryClusterAddr !== 'string') return undefined
  const caCertificate = bytesOf(data.ca_cert)
  const certificate = bytesOf(data.client_cert)
  if (caCertificate.length === 0 || !isCertificate(certificate)) return undefined
  return { kind, setId, secondaryId, caCertificate, certificate, privateKey, primaryClusterAddr }
}

/** Returns false if a decoder would skip characters of the text, because a change of such a character is not detected. */
const isCanonicalBase64 = (text: string): boolean =>
  text !== '' && Buffer.from(text, 'base64').toString('base64') === text

/** Parses a public key: 32 bytes in base64. Returns undefined if it is invalid. */
export const parsePublicKey = (text: string): Buffer | undefined => {
  const bytes = Buffer.from(text, 'base64')
  return isCanonicalBase64(text) && bytes.length === 32 ? bytes : undefined
}

const bytesOf = (value: JsonValue | undefined): Buffer => Buffer.from(typeof value === 'string' ? value : '', 'base64')

/** Returns undefined if the text is not the JSON of an object. */
export const parseObject = (text: string): JsonObject | undefined => {
  const value = attempt(() => JSON.parse(text) as JsonValue)
  return isJsonObject(value) ? value : undefined
}
