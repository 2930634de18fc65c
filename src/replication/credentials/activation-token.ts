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
 * The credentials with which a cluster joins a replication set. An activation token contains them in one of two forms:
 * - wrapped: a signed JWT that refers to a bundle stored on the primary. An unwrap request to the primary's API returns
 *   the bundle and consumes the token
 * - sealed: the bundle itself. Its private key is encrypted for a public key of the secondary, so the secondary does
 *   not call the primary's API
 *
 * A signature or an authentication tag protects all fields in both forms.
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

/** Purpose of the derived key that encrypts the private key of a sealed token. */
const PURPOSE = 'replication activation token'

/** Encodes a bundle as `data` of an unwrap response. */
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

/** Creates a sealed token that only the private key of `publicKey` opens. Returns undefined for an invalid key. */
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
 * Returns all fields except the encrypted key, in a fixed order. The encryption authenticates these fields, so
 * decryption fails if one of them was changed.
 */
const contextOf = (part: JsonObject): string =>
  JSON.stringify(
    ['ca_cert', 'client_cert', 'cluster_id', 'id', 'mode', 'primary_cluster_addr', 'primary_public_key'].map(
      (name) => part[name] ?? null,
    ),
  )

type ActivationToken =
  /** `address` is the API address of the primary; empty if it has no configured API address. */
  | { readonly form: 'wrapped'; readonly jwt: string; readonly address: string }
  | { readonly form: 'sealed'; readonly fields: JsonObject }

/** Parses a token without verifying it. Returns undefined if the text has neither form. */
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

/** Decrypts the bundle of a sealed token. Returns undefined if the token was changed, or created for another key. */
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

/** Returns false if a base64 decoder would ignore characters of the text, which would hide a change of them. */
const isCanonicalBase64 = (text: string): boolean =>
  text !== '' && Buffer.from(text, 'base64').toString('base64') === text

/** Parses a public key of 32 bytes in base64. Returns undefined if the text is invalid. */
export const parsePublicKey = (text: string): Buffer | undefined => {
  const bytes = Buffer.from(text, 'base64')
  return isCanonicalBase64(text) && bytes.length === 32 ? bytes : undefined
}

const bytesOf = (value: JsonValue | undefined): Buffer => Buffer.from(typeof value === 'string' ? value : '', 'base64')

/** Parses a JSON object. Returns undefined if the text is not one. */
export const parseObject = (text: string): JsonObject | undefined => {
  const value = attempt(() => JSON.parse(text) as JsonValue)
  return isJsonObject(value) ? value : undefined
}
