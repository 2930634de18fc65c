/** The optional backup of PGP-encrypted new shares that a rekey stores, in case a holder loses a share. */
import type { JsonObject } from '../../logical/json.js'
import type { PgpKey } from '../../seal/pgp.js'
import type { SealRecord, SealStorage } from './seal-records.js'
import { toBase64, toHex } from './share-input.js'
import { KEYS } from '../../storage/keys/key-families.js'

/** Builds the backup. `encrypted` is in the order of `pgpKeys`. One key may encrypt several shares. */
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

export class RekeyBackup {
  readonly #storage: Pick<SealStorage, 'get' | 'delete'>

  constructor(storage: Pick<SealStorage, 'get' | 'delete'>) {
    this.#storage = storage
  }

  /** Returns undefined if there is no backup. */
  find(): JsonObject | undefined {
    const value = this.#storage.get(KEYS.sharesBackup)
    return value && (JSON.parse(value.toString()) as JsonObject)
  }

  delete(): Promise<void> {
    return this.#storage.delete(KEYS.sharesBackup)
  }
}
