import { attempt } from '../base/attempt.js'
import { createPrivateKey, createPublicKey, diffieHellman, generateKeyPairSync, type JsonWebKey } from 'node:crypto'
import { deriveKey } from './digest.js'

/**
 * X25519 key exchange. Each party derives the same secret from its private key and the public key of the other party. A
 * public key is encoded as its 32 raw bytes.
 */
const EXCHANGE_KEY_BYTES = 32

interface ExchangeKey {
  readonly publicKey: Buffer
  /** PKCS 8 DER. */
  readonly privateKey: Buffer
}

export const createExchangeKey = (): ExchangeKey => {
  const { publicKey, privateKey } = generateKeyPairSync('x25519')
  return {
    publicKey: Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url'),
    privateKey: privateKey.export({ format: 'der', type: 'pkcs8' }),
  }
}

/** Derives a 32-byte key for one purpose, equal for both parties. Returns undefined if `publicKey` is invalid. */
export const deriveSharedKey = (privateKey: Buffer, publicKey: Buffer, purpose: string): Buffer | undefined => {
  if (publicKey.length !== EXCHANGE_KEY_BYTES) return undefined
  return attempt(() => {
    const secret = diffieHellman({
      privateKey: createPrivateKey({ key: privateKey, format: 'der', type: 'pkcs8' }),
      publicKey: createPublicKey({ key: jwkOf(publicKey), format: 'jwk' }),
    })
    return deriveKey(secret, purpose)
  })
}

const jwkOf = (publicKey: Buffer): JsonWebKey => ({ kty: 'OKP', crv: 'X25519', x: publicKey.toString('base64url') })
