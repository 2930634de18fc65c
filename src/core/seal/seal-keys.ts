/**
 * The stored side of the seal: which shares unlock the root key, how new ones are created, the auto-unseal wrapping, and the
 * material for secondaries. It never stores the root key itself.
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

/** A share key with its shares, and the records that would make it the cluster's key. Nothing is stored yet. */
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

/** The context that a challenge is bound to. */
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

  /** How the share key is split; undefined if not initialized. Read on every use, since replication may replace it. */
  get config(): SealConfig | undefined {
    const value = this.#options.storage.get(KEYS.sealConfig)
    return value && parseSealConfig(value)
  }

  /** True if auto-unseal is configured, but its first use requires one more unseal with the shares. */
  get isMigrating(): boolean {
    return (
      this.isAutoUnseal && this.config !== undefined && this.#options.storage.get(KEYS.autoWrappedRoot) === undefined
    )
  }

  /** Returns the root key unlocked by these shares; undefined if they do not belong to the cluster. */
  async findRootKey(shares: readonly Buffer[]): Promise<Buffer | undefined> {
    const config = this.config
    const wrapped = this.#options.storage.get(KEYS.shareWrappedRoot)
    const shareKey = config && wrapped && (await combineShares(shares, config))
    return shareKey && wrapped && unwrapKey(shareKey, wrapped, KEYS.shareWrappedRoot)
  }

  /**
   * Encrypts 32 bytes so that only a server with the same auto-unseal seal, or with the shares of this cluster, can read
   * them. With shares, the result contains the wrapped root key, and the secret encrypted with the root key. This server
   * therefore needs no shares to create it.
   */
  async sealChallenge(secret: Buffer, rootKey: Buffer): Promise<Buffer> {
    if (this.#options.autoSeal) return this.#options.autoSeal.wrap(secret)
    const wrapped = this.#options.storage.get(KEYS.shareWrappedRoot)
    if (wrapped?.length !== WRAPPED_ROOT_BYTES) throw new Error('an open cluster without a wrapped root key')
    return Buffer.concat([wrapped, wrapKey(this.#options.random, deriveKey(rootKey, CHALLENGE), secret, CHALLENGE)])
  }

  /** Decrypts the secret of another server's `sealChallenge`. Returns undefined if neither the seal nor the shares match. */
  async openChallenge(challenge: Buffer, shareKey: Buffer | undefined): Promise<Buffer | undefined> {
    if (this.#options.autoSeal) return (await this.#options.autoSeal.unwrap(challenge))?.key
    const wrapped = challenge.subarray(0, WRAPPED_ROOT_BYTES)
    const rootKey = shareKey && unwrapKey(shareKey, wrapped, KEYS.shareWrappedRoot)
    return rootKey && unwrapKey(deriveKey(rootKey, CHALLENGE), challenge.subarray(wrapped.length), CHALLENGE)
  }

  /** Returns the root key wrapped by the auto-unseal seal; undefined if there is none, or if its key no longer matches. */
  async findAutoWrapped(): Promise<{ readonly key: Buffer; readonly isCurrent: boolean } | undefined> {
    const wrapped = this.#options.storage.get(KEYS.autoWrappedRoot)
    return wrapped && this.#options.autoSeal?.unwrap(wrapped)
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

  /** Replaces the valid shares with new shares. Throws LogicalError `read-only` if replicated keys are not writable. */
  async adopt(made: NewShares): Promise<void> {
    await this.#options.storage.write(made.records)
  }

  /** Updates the auto-unseal wrapping, after a migration or a replaced seal key. */
  async refreshAutoWrapping(rootKey: Buffer): Promise<void> {
    if (!this.#options.autoSeal) return
    const present = await this.findAutoWrapped()
    if (present?.isCurrent && present.key.equals(rootKey)) return
    await this.#options.storage.write(await this.autoRecords(rootKey))
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
      if (!value) throw new Error(`an initialized cluster without ${key}`)
      return { key, value }
    })
    return { rootKey: Buffer.from(rootKey), records }
  }

  /**
   * Returns the records that a wiped cluster stores to use a primary's seal: the primary's records, and the root key wrapped
   * by the cluster's own auto-unseal seal, if any. The runtime then restarts with `material.rootKey`.
   */
  async recordsToAdopt(material: SealMaterial): Promise<readonly SealRecord[]> {
    return [...material.records, ...(await this.autoRecords(material.rootKey))]
  }
}
