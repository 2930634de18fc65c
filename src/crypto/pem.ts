import { createPrivateKey, X509Certificate } from 'node:crypto'

/** Forms in which certificates and keys travel: DER in records and bundles, PEM at the TLS layer, JWK in bundles. */

/** Throws for bytes that are no certificate. */
export const certificatePem = (der: Buffer): string => new X509Certificate(der).toString()

/** Throws for bytes that are no private key. */
export const privateKeyPem = (pkcs8: Buffer): string =>
  createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' }).export({ format: 'pem', type: 'pkcs8' }).toString()

/** The numbers of a P-521 private key, base64url. */
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

/** PKCS 8 DER, or undefined when the numbers are no key on the curve. */
export const fromP521Numbers = ({ x, y, d }: P521Numbers): Buffer | undefined => {
  try {
    const key = createPrivateKey({ key: { kty: 'EC', crv: 'P-521', x, y, d }, format: 'jwk' })
    return key.export({ format: 'der', type: 'pkcs8' })
  } catch {
    return undefined
  }
}
