/**
 * Opens and closes this cluster, and holds the root key while it is open. The stored seal configuration is the mark of
 * an initialised cluster: it is written last, so that an interrupted initialisation can be begun again.
 */
import { uuid } from '../../base/id.js'
import { KeyedLock } from '../../base/keyed-lock.js'
import type { Log } from '../../base/log.js'
import type { Random } from '../../base/random.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { AWAITING_NODES_REFUSAL } from '../../logical/refusal-texts.js'
import type { SealConfig } from '../../seal/config.js'
import { combineShares } from '../../seal/key-shares.js'
import { ROOT_KEY_BYTES } from '../../seal/key-wrapping.js'
import { ShareCollector } from '../../seal/share-collector.js'
import type { SealHooks } from './seal-hooks.js'
import type { SealJoin } from './seal-join.js'
import type { SealKeys } from './seal-keys.js'
import type { SealBarrier, SealStorage } from './seal-records.js'
import type { SealStatus } from './seal-status.js'

interface SealManagerOptions {
  readonly keys: SealKeys
  readonly storage: Pick<SealStorage, 'write' | 'clear'>
  readonly barrier: SealBarrier
  readonly hooks: SealHooks
  readonly random: Random
  readonly log: Log
  /** True for a node of several: another one may be the writer while this one is opened, and it mends no record. */
  readonly isOneOfSeveral?: boolean
  /** The cluster that this server is to be a node of, while it has no data of its own. */
  readonly joining?: () => SealJoin | undefined
}

/** Hands over what a new cluster was given, to whoever asked for it. */
type Deliver<T> = (made: { readonly shares: readonly Buffer[]; readonly rootToken: string }) => Promise<T>

export class SealManager {
  readonly keys: SealKeys
  readonly #storage: Pick<SealStorage, 'write' | 'clear'>
  readonly #barrier: SealBarrier
  readonly #hooks: SealHooks
  readonly #random: Random
  readonly #log: Log
  readonly #lock = new KeyedLock()
  readonly #collector = new ShareCollector()
  readonly #isOneOfSeveral: boolean
  readonly #joining: () => SealJoin | undefined
  #nonce = ''
  #rootKey: Buffer | undefined

  constructor(options: SealManagerOptions) {
    this.#isOneOfSeveral = options.isOneOfSeveral ?? false
    this.#joining = options.joining ?? (() => undefined)
    this.keys = options.keys
    this.#storage = options.storage
    this.#barrier = options.barrier
    this.#hooks = options.hooks
    this.#random = options.random
    this.#log = options.log
  }

  /** Only an initialised cluster is ever opened, so an open one need not look: health is asked for all the time. */
  get isInitialized(): boolean {
    return !this.isSealed || this.#config !== undefined
  }

  get isSealed(): boolean {
    return this.#rootKey === undefined
  }

  /** The key that opens the keyring; undefined while sealed. */
  get rootKey(): Buffer | undefined {
    return this.#rootKey
  }

  /** Of the cluster that is here, or of that which this server is to join. */
  get #config(): SealConfig | undefined {
    return this.keys.config ?? this.#otherCluster?.config
  }

  get #otherCluster(): SealJoin | undefined {
    return this.keys.config ? undefined : this.#joining()
  }

  status(): SealStatus {
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
   * Makes a new cluster: root key, shares, keyring, and what the hook adds. `deliver` may still refuse (a PGP key that
   * cannot encrypt); what it returns is returned. A Shamir cluster is sealed afterwards, an auto-unseal one is open.
   */
  initialize<T>(config: SealConfig, deliver: Deliver<T>): Promise<T> {
    return this.#lock.run('seal', async () => {
      if (this.isInitialized) throw invalid('Vault is already initialized')
      await this.#storage.clear()
      const rootKey = this.#random.bytes(ROOT_KEY_BYTES)
      const answer = await this.#create(config, rootKey, deliver)
      this.#log.info('cluster initialized', { shares: config.shares, threshold: config.threshold })
      if (this.keys.isAutoUnseal) await this.#open(rootKey, 'wrapped')
      return answer
    })
  }

  /** Nothing is initialised while `join` makes this server a node of another cluster. LogicalError 400 where there is one here. */
  joinOther<T>(join: () => Promise<T>): Promise<T> {
    return this.#lock.run('seal', async () => {
      if (this.keys.config) throw invalid('Vault is already initialized')
      return join()
    })
  }

  /** Takes one share in; the one that completes the threshold opens the cluster. An open cluster ignores it. */
  unseal(share: Buffer): Promise<void> {
    return this.#lock.run('seal', async () => {
      const config = this.#config
      if (!config) throw invalid('Vault is not initialized')
      if (!this.isSealed || this.#otherCluster?.shares === 'needless') return
      if (this.#otherCluster?.shares === 'too-early') throw new LogicalError('unavailable', AWAITING_NODES_REFUSAL)
      if (this.keys.isAutoUnseal && !this.keys.isMigrating) {
        throw invalid('this cluster unseals by itself when it starts; recovery keys do not unseal it')
      }
      if (this.#collector.progress === 0) this.#nonce = uuid(this.#random)
      this.#collector.offer(share)
      if (this.#collector.progress < config.threshold) return
      this.#nonce = ''
      if (await this.#collector.spend((shares) => this.#openWithShares(shares, config))) return
      throw invalid('Unseal failed, invalid key')
    })
  }

  /** False when they are not those of the cluster. */
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

  /** Forgets the shares taken in so far. */
  resetUnseal(): void {
    if (!this.isInitialized) throw invalid('Vault is not initialized')
    if (!this.isSealed) throw invalid('vault is unsealed')
    this.#collector.clear()
    this.#nonce = ''
  }

  /** Opens the cluster by its auto-unseal seal. False when nothing could be unwrapped; `unavailable` where that may change. */
  autoUnseal(): Promise<boolean> {
    return this.#lock.run('seal', async () => {
      if (!this.keys.isAutoUnseal || !this.isSealed || !this.keys.config || this.keys.isMigrating) return false
      const unwrapped = await this.keys.findAutoWrapped()
      if (unwrapped && !this.#barrier.isRootKey(unwrapped.key))
        throw new LogicalError('unavailable', 'the key that the seal unwraps does not open this cluster')
      if (unwrapped) await this.#open(unwrapped.key, unwrapped.isCurrent ? 'wrapped' : 'stale')
      else this.#log.error('auto-unseal failed: neither the current nor the previous seal key fits')
      return unwrapped !== undefined
    })
  }

  /** Opens the cluster with a root key that was kept in memory while the runtime was built anew. */
  openWith(rootKey: Buffer): Promise<void> {
    return this.#lock.run('seal', async () => {
      if (this.isSealed) await this.#open(rootKey, 'kept')
    })
  }

  /** Closes the cluster; a closed one stays closed. */
  seal(): Promise<void> {
    return this.#lock.run('seal', async () => {
      if (this.isSealed) return
      this.#rootKey = undefined
      try {
        await this.#hooks.onSealed()
      } finally {
        this.#barrier.seal()
        this.#log.info('cluster sealed')
      }
    })
  }

  /** To be called on a node of several that leads from now on: what it could not write before is kept. For an open cluster. */
  async refreshWrapping(): Promise<void> {
    if (this.#rootKey) await this.#refreshIfPossible(this.#rootKey)
  }

  async #refreshIfPossible(rootKey: Buffer): Promise<void> {
    try {
      await this.keys.refreshAutoWrapping(rootKey)
    } catch (error) {
      if (!(error instanceof LogicalError) || error.code !== 'unavailable') throw error
      this.#log.warn('what the seal has wrapped could not be compared with the root key', { error: error.message })
    }
  }

  async #create<T>(config: SealConfig, rootKey: Buffer, deliver: Deliver<T>): Promise<T> {
    const made = await this.keys.newShares(config, rootKey)
    try {
      await this.#barrier.initialize(rootKey)
      await this.#barrier.unseal(rootKey)
      const { rootToken } = await this.#hooks.createCluster()
      const answer = await deliver({ shares: made.shares, rootToken })
      await this.#storage.write([...made.records, ...(await this.keys.autoRecords(rootKey))])
      return answer
    } finally {
      this.#barrier.seal()
    }
  }

  /**
   * `wrapping`: what the auto-unseal seal has. `wrapped`: this key. `stale`: perhaps another, which has to be mended first. `kept`:
   * the key was in memory, so that a seal that cannot be asked now keeps nobody from going on.
   */
  async #open(rootKey: Buffer, wrapping: 'wrapped' | 'stale' | 'kept'): Promise<void> {
    await this.#barrier.unseal(rootKey)
    try {
      if (wrapping === 'stale' && !this.#isOneOfSeveral) await this.keys.refreshAutoWrapping(rootKey)
      if (wrapping === 'kept' && !this.#isOneOfSeveral) await this.#refreshIfPossible(rootKey)
      await this.#hooks.onUnsealed(rootKey)
    } catch (error) {
      this.#barrier.seal()
      throw error
    }
    this.#collector.clear()
    this.#nonce = ''
    this.#rootKey = Buffer.from(rootKey)
    this.#log.info('cluster unsealed')
  }
}
