import { attempt } from '../base/attempt.js'
import { createPrivateKey } from 'node:crypto'

/** Encodings of certificates and keys. Records and bundles contain DER or JWK, and TLS requires PEM. */

const LINE_LENGTH = 64

/**
 * Returns DER as PEM, without a check of its content. A check would take as long as a signature, and the code that uses
 * the PEM parses it anyway.
 */
const pemOf = (label: string, der: Buffer): string => {
  const text = der.toString('base64')
  const lines = text.match(new RegExp(`.{1,${LINE_LENGTH}}`, 'g')) ?? []
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n')
}

export const certificatePem = (der: Buffer): string => pemOf('CERTIFICATE', der)

export const privateKeyPem = (pkcs8: Buffer): string => pemOf('PRIVATE KEY', pkcs8)

export const requestPem = (der: Buffer): string => pemOf('CERTIFICATE REQUEST', der)

export const crlPem = (der: Buffer): string => pemOf('X509 CRL', der)

/** Returns the DER of a PEM text that contains one certificate or key. */
export const derOf = (pem: string): Buffer => Buffer.from(pem.replaceAll(/-----.+-----|\s/g, ''), 'base64')

/** The numbers of a P-521 private key, in base64url. */
interface P521Numbers {
  readonly x: string
  readonly y: string
  readonly d: string
}

export const toP521Numbers = (pkcs8: Buffer): P521Numbers => {
  const { x, y, d } = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' }).export({ format: 'jwk' })
  if (x === undefined || y === undefined || d === undefined) throw new Error('not a private key of an elliptic curve')
  return { x, y, d }
}

/** Returns the private key as PKCS 8 DER. Returns undefined if the numbers are not a key on the curve. */
export const fromP521Numbers = ({ x, y, d }: P521Numbers): Buffer | undefined =>
  attempt(() => {
    const key = createPrivateKey({ key: { kty: 'EC', crv: 'P-521', x, y, d }, format: 'jwk' })
    return key.export({ format: 'der', type: 'pkcs8' })
  })
