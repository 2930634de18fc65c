/**
 * Names of the browser's cryptography that declarations of the certificate library use. On Node they are those of
 * `node:crypto`; this file only says so, since its declarations are not the browser's.
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
