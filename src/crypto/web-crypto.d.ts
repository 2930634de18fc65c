/**
 * Global types of Web Crypto, which the type declarations of the certificate library use. The compiler options do not
 * include the declarations of browsers, so this file maps the types to `node:crypto`.
 */
import type { webcrypto } from 'node:crypto'

declare global {
  type Algorithm = webcrypto.Algorithm
  type AlgorithmIdentifier = webcrypto.AlgorithmIdentifier
  type BufferSource = webcrypto.BufferSource
  type Crypto = webcrypto.Crypto
  type CryptoKey = webcrypto.CryptoKey
  type CryptoKeyPair = webcrypto.CryptoKeyPair
  type EcKeyGenParams = webcrypto.EcKeyGenParams
  type EcKeyImportParams = webcrypto.EcKeyImportParams
  type EcdsaParams = webcrypto.EcdsaParams
  type KeyUsage = webcrypto.KeyUsage
  type RsaHashedImportParams = webcrypto.RsaHashedImportParams
}
