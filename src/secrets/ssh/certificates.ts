/** Certificates of OpenSSH, which its file PROTOCOL.certkeys describes. */
import { type KeyObject, sign } from 'node:crypto'
import { invalid } from '../../logical/errors.js'
import { type PublicKey, publicBlobOf } from './keys.js'
import { uint32, uint64, WireReader, wireInteger, wireString } from './wire.js'

export const CERTIFICATE_TYPES = { user: 1, host: 2 } as const
export type CertificateType = keyof typeof CERTIFICATE_TYPES

interface CertificateContent {
  readonly publicKey: PublicKey
  readonly type: CertificateType
  readonly serial: bigint
  readonly keyId: string
  readonly principals: readonly string[]
  /** The validity, in seconds since the epoch. */
  readonly validAfterSeconds: number
  readonly validBeforeSeconds: number
  readonly criticalOptions: Readonly<Record<string, string>>
  readonly extensions: Readonly<Record<string, string>>
}

/** The hash of each signature algorithm of RSA keys. `default` is the strongest that all clients know. */
export const RSA_SIGNERS: Readonly<Record<string, { readonly name: string; readonly hash: string }>> = {
  default: { name: 'rsa-sha2-256', hash: 'sha256' },
  'ssh-rsa': { name: 'ssh-rsa', hash: 'sha1' },
  'rsa-sha2-256': { name: 'rsa-sha2-256', hash: 'sha256' },
  'rsa-sha2-512': { name: 'rsa-sha2-512', hash: 'sha512' },
}

/** How a certificate is signed. The nonce has 32 bytes. */
interface Signing {
  readonly authority: KeyObject
  readonly signer: string
  readonly nonce: Buffer
}

/**
 * Returns a signed certificate as a line of a file. Throws LogicalError 400 if the authority cannot sign with the
 * algorithm.
 */
export const signCertificate = (content: CertificateContent, { authority, signer, nonce }: Signing): string => {
  const { publicKey } = content
  const type = certificateTypeOf(publicKey.type)
  const body = Buffer.concat([
    wireString(type),
    wireString(nonce),
    publicKey.fields,
    uint64(content.serial),
    uint32(CERTIFICATE_TYPES[content.type]),
    wireString(content.keyId),
    wireString(Buffer.concat(content.principals.map(wireString))),
    uint64(BigInt(content.validAfterSeconds)),
    uint64(BigInt(content.validBeforeSeconds)),
    wireString(encodeOptions(content.criticalOptions)),
    wireString(encodeOptions(content.extensions)),
    wireString(''),
    wireString(publicBlobOf(authority)),
  ])
  const certificate = Buffer.concat([body, wireString(signatureOf(body, authority, signer))])
  return `${type} ${certificate.toString('base64')}\n`
}

const certificateTypeOf = (type: string): string => `${type.replace('@openssh.com', '')}-cert-v01@openssh.com`

/** Encodes options in the order of their names. An option without a value has empty data. */
const encodeOptions = (options: Readonly<Record<string, string>>): Buffer =>
  Buffer.concat(
    Object.entries(options)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([name, value]) => [wireString(name), wireString(value === '' ? '' : wireString(value))]),
  )

const signatureOf = (data: Buffer, key: KeyObject, signer: string): Buffer => {
  const keyType = new WireReader(publicBlobOf(key)).string().toString()
  if (keyType === 'ssh-rsa') {
    const { name, hash } = RSA_SIGNERS[signer] ?? { name: '', hash: '' }
    return Buffer.concat([wireString(name), wireString(sign(hash, data, key))])
  }
  if (signer !== 'default') {
    const text = `ssh: unsupported signature algorithm ${JSON.stringify(signer)} for key format ${JSON.stringify(keyType)}`
    throw invalid(`failed to generate signed SSH key: sign error: ${text}`)
  }
  if (keyType === 'ssh-ed25519') return Buffer.concat([wireString(keyType), wireString(sign(null, data, key))])
  const halves = sign(CURVE_HASHES[keyType] ?? 'sha256', data, { key, dsaEncoding: 'ieee-p1363' })
  const middle = halves.length / 2
  const numbers = [halves.subarray(0, middle), halves.subarray(middle)].map(wireInteger)
  return Buffer.concat([wireString(keyType), wireString(Buffer.concat(numbers))])
}

/** The hash of each curve (RFC 5656, section 6.2.1). */
const CURVE_HASHES: Readonly<Record<string, string>> = {
  'ecdsa-sha2-nistp256': 'sha256',
  'ecdsa-sha2-nistp384': 'sha384',
  'ecdsa-sha2-nistp521': 'sha512',
}
