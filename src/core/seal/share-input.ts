/**
 * Parses the key shares and PGP keys in requests. Throws LogicalError 400, with the text of Vault, for invalid input.
 */
import { invalid, sealed } from '../../logical/errors.js'
import type { SealConfig } from '../../seal/config.js'
import { parseKeyShare } from '../../seal/key-text.js'
import { parsePgpKey, type PgpKey } from '../../seal/pgp.js'
import type { SealManager } from './seal-manager.js'
import type { JsonObject } from '../../logical/json.js'
import type { SealRecord, SealStorage } from './seal-records.js'
import { KEYS } from '../../storage/keys/key-families.js'

/** The members of the seal that rekey and root token generation use. */
export type CeremonySeal = Pick<SealManager, 'rootKey' | 'isSealed' | 'keys'>

export const requireOpenSeal = (seal: CeremonySeal): SealConfig => {
  const config = seal.keys.config
  if (!config) throw invalid('server is not yet initialized')
  if (seal.isSealed) throw sealed()
  return config
}

export const requireKeyShare = (text: string): Buffer => {
  if (text === '') throw invalid("'key' must be specified in request body as JSON")
  const parsed = parseKeyShare(text)
  if (!parsed.ok) throw invalid(parsed.problem)
  return parsed.share
}

export const requirePgpKeys = async (texts: readonly string[]): Promise<readonly PgpKey[]> => {
  const keys: PgpKey[] = []
  for (const text of texts) {
    const parsed = await parsePgpKey(text)
    if (!parsed.ok) throw invalid(parsed.problem)
    keys.push(parsed.key)
  }
  return keys
}

/**
 * Encrypts the hex form of each share with the PGP key at the same index. If `pgpKeys` is empty, returns the shares
 * unchanged. Otherwise `pgpKeys` is as long as `shares`.
 */
export const encryptShares = async (
  shares: readonly Buffer[],
  pgpKeys: readonly PgpKey[],
): Promise<readonly Buffer[]> => {
  if (pgpKeys.length === 0) return shares
  return Promise.all(pgpKeys.map((key, index) => key.encrypt(Buffer.from(shares[index]?.toString('hex') ?? ''))))
}

export const toHex = (shares: readonly Buffer[]): string[] => shares.map((share) => share.toString('hex'))
export const toBase64 = (shares: readonly Buffer[]): string[] => shares.map((share) => share.toString('base64'))

/**
 * Builds the backup record of encrypted shares. `encrypted` has the order of `pgpKeys`. One PGP key may encrypt several
 * shares.
 */
export const backupRecord = (nonce: string, pgpKeys: readonly PgpKey[], encrypted: readonly Buffer[]): SealRecord => {
  const byFingerprint = new Map<string, Buffer[]>()
  pgpKeys.forEach(({ fingerprint }, index) => {
    const share = encrypted[index]
    if (share) byFingerprint.set(fingerprint, [...(byFingerprint.get(fingerprint) ?? []), share])
  })
  const shares = [...byFingerprint]
  const body: JsonObject = {
    nonce,
    keys: Object.fromEntries(shares.map(([fingerprint, list]) => [fingerprint, toHex(list)])),
    keys_base64: Object.fromEntries(shares.map(([fingerprint, list]) => [fingerprint, toBase64(list)])),
  }
  return { key: KEYS.sharesBackup, value: Buffer.from(JSON.stringify(body)) }
}

/** Returns the backup of PGP-encrypted shares, which a rekey stores on request; undefined if there is no backup. */
export const findBackup = (storage: Pick<SealStorage, 'get'>): JsonObject | undefined => {
  const value = storage.get(KEYS.sharesBackup)
  return value && (JSON.parse(value.toString()) as JsonObject)
}
