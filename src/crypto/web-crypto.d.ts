/**
 * Global names of the Web Crypto API that the certificate library's declarations use. This file maps them to
 * `node:crypto`, because the compiler options do not include the browser's declarations.
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
