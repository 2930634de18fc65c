/**
 * The stored side of the seal: which shares lead to the root key, how new ones are made, what an auto-unseal seal has
 * wrapped, and what secondaries are given. It never holds the root key itself.
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

/**
 * A share key with the shares that it is split into, and the records that make it the cluster's. Nothing is stored yet.
 */
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

/** What a challenge is bound to. */
const CHALLENGE = 'challenge'

export class SealKeys {
  readonly #storage: SealStorage
  readonly #autoSeal: AutoSeal | undefined
  readonly #random: Random

  constructor(options: SealKeysOptions) {
    this.#storage = options.storage
    this.#autoSeal = options.autoSeal
    this.#random = options.random
  }

  /** `shamir`, or the type of the auto-unseal seal. */
  get type(): string {
    return this.#autoSeal?.type ?? 'shamir'
  }

  get isAutoUnseal(): boolean {
    return this.#autoSeal !== undefined
  }

  /** How the share key is split; undefined while not initialised. Read fresh, since replication may replace it. */
  get config(): SealConfig | undefined {
    const value = this.#storage.get(KEYS.sealConfig)
    return value && parseSealConfig(value)
  }

  /** Auto-unseal is configured, but the cluster must be opened with its shares once more to take it up. */
  get isMigrating(): boolean {
    return this.isAutoUnseal && this.config !== undefined && this.#storage.get(KEYS.autoWrappedRoot) === undefined
  }

  /** The root key that these shares lead to; undefined when they are not the cluster's. */
  async findRootKey(shares: readonly Buffer[]): Promise<Buffer | undefined> {
    const config = this.config
    const wrapped = this.#storage.get(KEYS.shareWrappedRoot)
    const shareKey = config && wrapped && (await combineShares(shares, config))
    return shareKey && wrapped && unwrapKey(shareKey, wrapped, KEYS.shareWrappedRoot)
  }

  /**
   * Encrypts 32 bytes so that only a server with the same seal can read them, or one with the shares of this cluster: for
   * those it has the root key as the shares wrap it, and the secret under that. So it needs no share that was shown here.
   */
  async sealChallenge(secret: Buffer, rootKey: Buffer): Promise<Buffer> {
    if (this.#autoSeal) return this.#autoSeal.wrap(secret)
    const wrapped = this.#storage.get(KEYS.shareWrappedRoot)
    if (wrapped?.length !== WRAPPED_ROOT_BYTES) throw new Error('an open cluster without a wrapped root key')
    return Buffer.concat([wrapped, wrapKey(this.#random, deriveKey(rootKey, CHALLENGE), secret, CHALLENGE)])
  }

  /** What another server's `sealChallenge` was given; undefined when neither the seal nor the shares are its. */
  async openChallenge(challenge: Buffer, shareKey: Buffer | undefined): Promise<Buffer | undefined> {
    if (this.#autoSeal) return (await this.#autoSeal.unwrap(challenge))?.key
    const wrapped = challenge.subarray(0, WRAPPED_ROOT_BYTES)
    const rootKey = shareKey && unwrapKey(shareKey, wrapped, KEYS.shareWrappedRoot)
    return rootKey && unwrapKey(deriveKey(rootKey, CHALLENGE), challenge.subarray(wrapped.length), CHALLENGE)
  }

  /** The root key as the auto-unseal seal has it; undefined when there is none, or its key fits no longer. */
  async findAutoWrapped(): Promise<{ readonly key: Buffer; readonly isCurrent: boolean } | undefined> {
    const wrapped = this.#storage.get(KEYS.autoWrappedRoot)
    return wrapped && this.#autoSeal?.unwrap(wrapped)
  }

  /** A new share key around the root key, split. */
  async newShares(config: SealConfig, rootKey: Buffer): Promise<NewShares> {
    const shareKey = this.#random.bytes(ROOT_KEY_BYTES)
    const wrapped = wrapKey(this.#random, shareKey, rootKey, KEYS.shareWrappedRoot)
    return {
      config,
      shareKey,
      shares: await splitKey(this.#random, shareKey, config),
      records: [
        { key: KEYS.sealConfig, value: encodeSealConfig(config) },
        { key: KEYS.shareWrappedRoot, value: wrapped },
      ],
    }
  }

  /** Makes new shares the ones that count. LogicalError `read-only` where replicated keys may not be written. */
  async adopt(made: NewShares): Promise<void> {
    await this.#storage.write(made.records)
  }

  /** Brings the auto-unseal wrapping up to date: after a migration, and when the seal key was replaced. */
  async refreshAutoWrapping(rootKey: Buffer): Promise<void> {
    if (!this.#autoSeal) return
    const present = await this.findAutoWrapped()
    if (present?.isCurrent && present.key.equals(rootKey)) return
    await this.#storage.write(await this.autoRecords(rootKey))
  }

  async autoRecords(rootKey: Buffer): Promise<SealRecord[]> {
    return this.#autoSeal ? [{ key: KEYS.autoWrappedRoot, value: await this.#autoSeal.wrap(rootKey) }] : []
  }

  /** For those who join this cluster as secondaries. */
  exportMaterial(rootKey: Buffer): SealMaterial {
    const records = SHARED_SEAL_KEYS.map((key) => {
      const value = this.#storage.get(key)
      if (!value) throw new Error(`an initialised cluster without ${key}`)
      return { key, value }
    })
    return { rootKey: Buffer.from(rootKey), records }
  }

  /**
   * The records that a wiped cluster stores to live under a primary's seal: the primary's records, and the root key
   * wrapped by the cluster's own auto-unseal seal when it has one. The runtime then starts anew with
   * `material.rootKey`.
   */
  async recordsToAdopt(material: SealMaterial): Promise<readonly SealRecord[]> {
    return [...material.records, ...(await this.autoRecords(material.rootKey))]
  }
}
