/**
 * Reads and writes the records of the seal: the configuration of the shares, the root key wrapped by the share key, and
 * the root key wrapped by the auto-unseal seal. Never stores the root key unencrypted.
 */
import type { Random } from '../../base/random.js'
import { deriveKey } from '../../crypto/digest.js'
import type { AutoSeal } from '../../seal/auto-seal.js'
import type { SealConfig } from '../../seal/config.js'
import { combineShares, splitKey } from '../../seal/key-shares.js'
import { ROOT_KEY_BYTES, unwrapKey, WRAPPED_ROOT_BYTES, wrapKey } from '../../seal/key-wrapping.js'
import {
  encodeSealConfig,
  parseSealConfig,
  type SealMaterial,
  type SealRecord,
  type SealStorage,
} from './seal-records.js'
import { KEYS, SHARED_SEAL_KEYS } from '../../storage/keys/key-families.js'

/** A new share key, its shares, and the records that make them valid once `adopt` stores these records. */
export interface NewShares {
  readonly config: SealConfig
  readonly shareKey: Buffer
  readonly shares: readonly Buffer[]
  readonly records: readonly SealRecord[]
}

interface SealKeysOptions {
  readonly storage: SealStorage
  readonly autoSeal?: AutoSeal | undefined
  readonly random: Random
}

/** The context with which the key of a challenge is derived and its secret encrypted. */
const CHALLENGE = 'challenge'

export class SealKeys {
  readonly #options: SealKeysOptions

  constructor(options: SealKeysOptions) {
    this.#options = options
  }

  /** `shamir`, or the type of the auto-unseal seal. */
  get type(): string {
    return this.#options.autoSeal?.type ?? 'shamir'
  }

  get isAutoUnseal(): boolean {
    return this.#options.autoSeal !== undefined
  }

  /**
   * The configuration of the shares; undefined if the cluster is not initialized. Read from storage on every use, since
   * replication may replace the record.
   */
  get config(): SealConfig | undefined {
    const value = this.#options.storage.get(KEYS.sealConfig)
    return value && parseSealConfig(value)
  }

  /**
   * True if auto-unseal is configured but the seal has not wrapped the root key yet. The next unseal then requires the
   * shares.
   */
  get isMigrating(): boolean {
    return (
      this.isAutoUnseal && this.config !== undefined && this.#options.storage.get(KEYS.autoWrappedRoot) === undefined
    )
  }

  /** Returns the root key that the shares unlock; undefined if the shares do not belong to the cluster. */
  async findRootKey(shares: readonly Buffer[]): Promise<Buffer | undefined> {
    const config = this.config
    const wrapped = this.#options.storage.get(KEYS.shareWrappedRoot)
    const shareKey = config && wrapped && (await combineShares(shares, config))
    return shareKey && wrapped && unwrapKey(shareKey, wrapped, KEYS.shareWrappedRoot)
  }

  /**
   * Encrypts a secret of 32 bytes so that only a server with the same auto-unseal seal, or with the shares of this
   * cluster, can decrypt the secret. For shares, the result contains the wrapped root key and the secret, encrypted
   * with a key derived from the root key. This server therefore needs no shares to create the result.
   */
  async sealChallenge(secret: Buffer, rootKey: Buffer): Promise<Buffer> {
    if (this.#options.autoSeal) return this.#options.autoSeal.wrap(secret)
    const wrapped = this.#options.storage.get(KEYS.shareWrappedRoot)
    if (wrapped?.length !== WRAPPED_ROOT_BYTES) throw new Error('the unsealed cluster has no wrapped root key')
    return Buffer.concat([wrapped, wrapKey(this.#options.random, deriveKey(rootKey, CHALLENGE), secret, CHALLENGE)])
  }

  /**
   * Decrypts the secret of another server's `sealChallenge`. Returns undefined if neither the seal nor the shares
   * match.
   */
  async openChallenge(challenge: Buffer, shareKey: Buffer | undefined): Promise<Buffer | undefined> {
    if (this.#options.autoSeal) return (await this.#options.autoSeal.unwrap(challenge))?.key
    const wrapped = challenge.subarray(0, WRAPPED_ROOT_BYTES)
    const rootKey = shareKey && unwrapKey(shareKey, wrapped, KEYS.shareWrappedRoot)
    return rootKey && unwrapKey(deriveKey(rootKey, CHALLENGE), challenge.subarray(wrapped.length), CHALLENGE)
  }

  /**
   * Returns the root key, decrypted by the auto-unseal seal. Returns undefined if the seal has not wrapped the root
   * key, or if no key of the seal decrypts it.
   */
  async findAutoWrapped(): Promise<{ readonly key: Buffer; readonly isCurrent: boolean } | undefined> {
    const wrapped = this.#options.storage.get(KEYS.autoWrappedRoot)
    return wrapped && this.#options.autoSeal?.unwrap(wrapped)
  }

  /** Returns whether the auto-unseal seal encrypts and decrypts. A seal with shares always works. */
  async isWorking(): Promise<boolean> {
    const { autoSeal, random } = this.#options
    if (!autoSeal) return true
    const probe = random.bytes(ROOT_KEY_BYTES)
    try {
      return (await autoSeal.unwrap(await autoSeal.wrap(probe)))?.key.equals(probe) ?? false
    } catch {
      return false
    }
  }

  /** Creates a new share key that wraps the root key, and splits it. */
  async newShares(config: SealConfig, rootKey: Buffer): Promise<NewShares> {
    const shareKey = this.#options.random.bytes(ROOT_KEY_BYTES)
    const wrapped = wrapKey(this.#options.random, shareKey, rootKey, KEYS.shareWrappedRoot)
    return {
      config,
      shareKey,
      shares: await splitKey(this.#options.random, shareKey, config),
      records: [
        { key: KEYS.sealConfig, value: encodeSealConfig(config) },
        { key: KEYS.shareWrappedRoot, value: wrapped },
      ],
    }
  }

  /**
   * Replaces the valid shares with new shares. Rejects with LogicalError `read-only` if replicated keys are not
   * writable.
   */
  async adopt(made: NewShares): Promise<void> {
    await this.#options.storage.write(made.records)
  }

  /**
   * Wraps the root key with the current key of the auto-unseal seal and stores the result. Does nothing if the stored
   * record is current.
   */
  async refreshAutoWrapping(rootKey: Buffer): Promise<void> {
    if (!this.#options.autoSeal) return
    const present = await this.findAutoWrapped()
    if (present?.isCurrent && present.key.equals(rootKey)) return
    await this.rewrap(rootKey)
  }

  /** Wraps the root key with the auto-unseal seal and stores the result. Returns the number of stored records. */
  async rewrap(rootKey: Buffer): Promise<number> {
    const records = await this.autoRecords(rootKey)
    if (records.length > 0) await this.#options.storage.write(records)
    return records.length
  }

  async autoRecords(rootKey: Buffer): Promise<SealRecord[]> {
    return this.#options.autoSeal
      ? [{ key: KEYS.autoWrappedRoot, value: await this.#options.autoSeal.wrap(rootKey) }]
      : []
  }

  /** Returns the material for clusters that join as secondaries. */
  exportMaterial(rootKey: Buffer): SealMaterial {
    const records = SHARED_SEAL_KEYS.map((key) => {
      const value = this.#options.storage.get(key)
      if (!value) throw new Error(`the initialized cluster has no record ${key}`)
      return { key, value }
    })
    return { rootKey: Buffer.from(rootKey), records }
  }

  /**
   * Returns the records that a new secondary stores to use the seal of its primary: the records of the primary and,
   * with auto-unseal, the root key wrapped by the secondary's own seal. The runtime then restarts with
   * `material.rootKey`.
   */
  async recordsToAdopt(material: SealMaterial): Promise<readonly SealRecord[]> {
    return [...material.records, ...(await this.autoRecords(material.rootKey))]
  }
}
