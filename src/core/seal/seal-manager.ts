/**
 * Seals and unseals this cluster, and holds the root key while the cluster is unsealed. A cluster is initialized if its
 * seal configuration is stored. Initialization writes the configuration last, so that an interrupted initialization can
 * be repeated.
 */
import { uuid } from '../../base/id.js'
import { KeyedLock } from '../../base/keyed-lock.js'
import type { Log } from '../../base/log.js'
import type { Random } from '../../base/random.js'
import { AWAITING_NODES_REFUSAL, invalid, LogicalError } from '../../logical/errors.js'
import type { SealConfig } from '../../seal/config.js'
import { combineShares } from '../../seal/key-shares.js'
import { ROOT_KEY_BYTES } from '../../seal/key-wrapping.js'
import { ShareCollector } from '../../seal/share-collector.js'
import type { SealBarrier, SealHooks, SealJoin, SealStorage } from './seal-records.js'
import type { SealKeys } from './seal-keys.js'

interface SealManagerOptions {
  readonly keys: SealKeys
  readonly storage: Pick<SealStorage, 'write' | 'clear'>
  readonly barrier: SealBarrier
  readonly hooks: SealHooks
  readonly random: Random
  readonly log: Log
  /**
   * True for a node of a multi-node cluster. Such a node writes no auto-unseal record during the unseal, because
   * another node may be writing.
   */
  readonly isOneOfSeveral?: boolean
  /** Returns the cluster that this server is joining, while it has no data. */
  readonly joining?: () => SealJoin | undefined
}

/** Delivers the shares and root token of a new cluster to the caller. */
type Deliver<T> = (made: { readonly shares: readonly Buffer[]; readonly rootToken: string }) => Promise<T>

export class SealManager {
  readonly keys: SealKeys
  readonly #options: SealManagerOptions
  readonly #lock = new KeyedLock()
  readonly #collector = new ShareCollector()
  #nonce = ''
  #rootKey: Buffer | undefined

  constructor(options: SealManagerOptions) {
    this.#options = options
    this.keys = options.keys
  }

  /**
   * True if the cluster is initialized. Reads no storage while the cluster is unsealed, because health checks are
   * frequent.
   */
  get isInitialized(): boolean {
    return !this.isSealed || this.#config !== undefined
  }

  get isSealed(): boolean {
    return this.#rootKey === undefined
  }

  /** The key that decrypts the keyring; undefined while sealed. */
  get rootKey(): Buffer | undefined {
    return this.#rootKey
  }

  /** The configuration of this cluster, or of the cluster that this server is joining. */
  get #config(): SealConfig | undefined {
    return this.keys.config ?? this.#otherCluster?.config
  }

  get #otherCluster(): SealJoin | undefined {
    return this.keys.config ? undefined : this.#options.joining?.()
  }

  /** Returns the seal state, and the progress and nonce of the unseal attempt. Counts are 0 while not initialized. */
  status() {
    const config = this.#config
    return {
      type: this.keys.type,
      isInitialized: config !== undefined,
      isSealed: this.isSealed,
      shares: config?.shares ?? 0,
      threshold: config?.threshold ?? 0,
      progress: this.#collector.progress,
      nonce: this.#nonce,
      isRecoverySeal: this.keys.isAutoUnseal,
      isMigrating: this.isSealed && this.keys.isMigrating,
    }
  }

  /**
   * Creates a new cluster: root key, shares, keyring, and the data that the hook `createCluster` writes. Returns the
   * result of `deliver`. If `deliver` throws, for example because a PGP key cannot encrypt, the cluster stays
   * uninitialized. Afterwards the cluster is sealed, or unsealed if it uses auto-unseal.
   */
  initialize<T>(config: SealConfig, deliver: Deliver<T>): Promise<T> {
    return this.#lock.run('seal', async () => {
      if (this.isInitialized) throw invalid('Vault is already initialized')
      await this.#options.storage.clear()
      const rootKey = this.#options.random.bytes(ROOT_KEY_BYTES)
      const answer = await this.#create(config, rootKey, deliver)
      this.#options.log.info('cluster initialized', { shares: config.shares, threshold: config.threshold })
      if (this.keys.isAutoUnseal) await this.#open(rootKey, 'wrapped')
      return answer
    })
  }

  /**
   * Runs `join`, which adds this server to another cluster. Prevents initialization in the meantime. Rejects with
   * LogicalError 400 if this server is initialized.
   */
  joinOther<T>(join: () => Promise<T>): Promise<T> {
    return this.#lock.run('seal', async () => {
      if (this.keys.config) throw invalid('Vault is already initialized')
      return join()
    })
  }

  /** Adds a share. The share that reaches the threshold unseals the cluster. An unsealed cluster ignores shares. */
  unseal(share: Buffer): Promise<void> {
    return this.#lock.run('seal', async () => {
      const config = this.#config
      if (!config) throw invalid('Vault is not initialized')
      if (!this.isSealed || this.#otherCluster?.shares === 'needless') return
      if (this.#otherCluster?.shares === 'too-early') throw new LogicalError('unavailable', AWAITING_NODES_REFUSAL)
      if (this.keys.isAutoUnseal && !this.keys.isMigrating) {
        throw invalid('this cluster uses auto-unseal; recovery keys cannot unseal it')
      }
      if (this.#collector.progress === 0) this.#nonce = uuid(this.#options.random)
      this.#collector.offer(share)
      if (this.#collector.progress < config.threshold) return
      this.#nonce = ''
      if (await this.#collector.spend((shares) => this.#openWithShares(shares, config))) return
      throw invalid('Unseal failed, invalid key')
    })
  }

  /** Returns false if the shares do not belong to the cluster. */
  async #openWithShares(shares: readonly Buffer[], config: SealConfig): Promise<boolean> {
    const joining = this.#otherCluster
    if (joining) {
      const shareKey = await combineShares(shares, config)
      return shareKey !== undefined && joining.open(shareKey)
    }
    const rootKey = await this.keys.findRootKey(shares)
    if (rootKey) await this.#open(rootKey, 'stale')
    return rootKey !== undefined
  }

  resetUnseal(): void {
    if (!this.isInitialized) throw invalid('Vault is not initialized')
    if (!this.isSealed) throw invalid('vault is unsealed')
    this.#collector.clear()
    this.#nonce = ''
  }

  /**
   * Unseals with the auto-unseal seal. Returns false if this is not possible. Rejects with LogicalError `unavailable`
   * if a retry may succeed.
   */
  autoUnseal(): Promise<boolean> {
    return this.#lock.run('seal', async () => {
      if (!this.keys.isAutoUnseal || !this.isSealed || !this.keys.config || this.keys.isMigrating) return false
      const unwrapped = await this.keys.findAutoWrapped()
      if (unwrapped && !this.#options.barrier.isRootKey(unwrapped.key))
        throw new LogicalError('unavailable', 'the seal unwrapped the key of another cluster: check the seal stanza')
      if (unwrapped) await this.#open(unwrapped.key, unwrapped.isCurrent ? 'wrapped' : 'stale')
      else
        this.#options.log.error(
          'auto-unseal failed: neither the current nor the previous seal key unwraps the root key',
        )
      return unwrapped !== undefined
    })
  }

  /** Unseals with a root key that stayed in memory while the runtime was rebuilt. */
  openWith(rootKey: Buffer): Promise<void> {
    return this.#lock.run('seal', async () => {
      if (this.isSealed) await this.#open(rootKey, 'in-memory')
    })
  }

  /** Seals the cluster. Does nothing if the cluster is sealed. */
  seal(): Promise<void> {
    return this.#lock.run('seal', async () => {
      if (this.isSealed) return
      this.#rootKey = undefined
      try {
        await this.#options.hooks.onSealed()
      } finally {
        this.#options.barrier.seal()
        this.#options.log.info('cluster sealed')
      }
    })
  }

  /** Updates the auto-unseal wrapping, which only the active node writes. Called when a node becomes active. */
  async refreshWrapping(): Promise<void> {
    if (this.#rootKey) await this.#refreshIfPossible(this.#rootKey)
  }

  async #refreshIfPossible(rootKey: Buffer): Promise<void> {
    try {
      await this.keys.refreshAutoWrapping(rootKey)
    } catch (error) {
      if (!(error instanceof LogicalError) || error.code !== 'unavailable') throw error
      this.#options.log.warn('the root key wrapped by the seal could not be verified', { error: error.message })
    }
  }

  async #create<T>(config: SealConfig, rootKey: Buffer, deliver: Deliver<T>): Promise<T> {
    const made = await this.keys.newShares(config, rootKey)
    try {
      await this.#options.barrier.initialize(rootKey)
      await this.#options.barrier.unseal(rootKey)
      const { rootToken } = await this.#options.hooks.createCluster()
      const answer = await deliver({ shares: made.shares, rootToken })
      await this.#options.storage.write([...made.records, ...(await this.keys.autoRecords(rootKey))])
      return answer
    } finally {
      this.#options.barrier.seal()
    }
  }

  /**
   * Opens the barrier and the cluster. `wrapping` describes the record with the root key wrapped by the auto-unseal
   * seal. `wrapped`: the record contains this key. `stale`: the record may contain another key and must be updated
   * first. `in-memory`: the key was in memory, so the unseal succeeds even if the seal is unreachable.
   */
  async #open(rootKey: Buffer, wrapping: 'wrapped' | 'stale' | 'in-memory'): Promise<void> {
    await this.#options.barrier.unseal(rootKey)
    try {
      if (wrapping === 'stale' && !this.#options.isOneOfSeveral) await this.keys.refreshAutoWrapping(rootKey)
      if (wrapping === 'in-memory' && !this.#options.isOneOfSeveral) await this.#refreshIfPossible(rootKey)
      await this.#options.hooks.onUnsealed(rootKey)
    } catch (error) {
      this.#options.barrier.seal()
      throw error
    }
    this.#collector.clear()
    this.#nonce = ''
    this.#rootKey = Buffer.from(rootKey)
    this.#options.log.info('cluster unsealed')
  }
}
