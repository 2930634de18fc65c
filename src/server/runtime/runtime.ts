import { GenerationSlot } from '../../core/seal/generate-root.js'
import { SealKeys } from '../../core/seal/seal-keys.js'
import { SealManager } from '../../core/seal/seal-manager.js'
import type { SealStorage } from '../../core/seal/seal-records.js'
import { createSystemBackend } from '../../core/system/backend.js'
import type { Backend, PathSpec } from '../../logical/backend.js'
import { sealed } from '../../logical/errors.js'
import type { AutoSeal } from '../../seal/auto-seal.js'
import { Barrier } from '../../storage/barrier/barrier.js'
import type { Leadership } from '../../storage/shared-log/shared-log.js'
import type { Store } from '../../storage/store/store.js'
import {
  ensureIdentity,
  findIdentity,
  type NodeMembership,
  type OpenClusterOptions,
  type OwnIdentity,
  requireLicensedRoles,
  type RuntimeParts,
  type RuntimeSurroundings,
} from '../parts/parts.js'
import { OpenCluster } from '../wiring/open-cluster.js'
import { createSealBarrier, createSealStorage } from '../wiring/seal-parts.js'
import { KEYS } from '../../storage/keys/key-families.js'
import { openStore } from '../data/open-store.js'
import { FollowerStore } from '../parts/follower-store.js'
import { StandbyCopy } from './standby-copy.js'
import { createStatePaths, sealReplacement } from './state-paths.js'

interface RuntimeOptions extends RuntimeSurroundings {
  /** The auto-unseal seal; undefined if the server unseals with key shares. */
  readonly autoSeal: AutoSeal | undefined
  /** Aborts when the server stops. Ends waits for a shared log. */
  readonly signal: AbortSignal
}

interface Opened {
  readonly store: Store
  readonly following: FollowerStore | undefined
  /** The identity of a single-node cluster; undefined on a node of a multi-node cluster. */
  readonly identity: OwnIdentity | undefined
}

/**
 * All state that is derived from one generation of the data: the store, the barrier, the seal and, while unsealed, the
 * open cluster. A role change discards the runtime and builds a new one from the data on disk, as after a crash.
 */
export class Runtime implements RuntimeParts {
  readonly store: Store
  readonly barrier: Barrier
  readonly seal: SealManager
  readonly generationSlot = new GenerationSlot()
  readonly sealStorage: SealStorage
  readonly closedBackend: Backend
  readonly #options: RuntimeOptions
  readonly #statePaths: PathSpec[]
  readonly following: FollowerStore | undefined
  #identity: OwnIdentity | undefined
  readonly #copy: StandbyCopy
  #cluster: OpenCluster | undefined
  /** Settles when the last attempt to open the cluster on this node has ended. */
  #opening: Promise<void> = Promise.resolve()

  private constructor(options: RuntimeOptions, { store, following, identity }: Opened) {
    const { clock, random, log, shell } = options
    this.#options = options
    this.store = store
    this.following = following
    this.#identity = identity
    this.barrier = new Barrier({ store, clock, random, encryptions: shell.encryptions })
    this.sealStorage = createSealStorage(store)
    const keys = new SealKeys({ storage: this.sealStorage, autoSeal: options.autoSeal, random })
    this.seal = new SealManager({
      keys,
      storage: this.sealStorage,
      barrier: createSealBarrier(this.barrier),
      hooks: {
        createCluster: () => this.#createCluster(),
        onUnsealed: async () => (options.membership ? this.#join(options.membership) : this.#open()),
        onSealed: () => this.#close().then(() => sealReplacement(this, options)),
      },
      random,
      log,
      isOneOfSeveral: options.membership !== undefined,
      joining: () => shell.peers?.sealJoin,
    })
    this.#copy = new StandbyCopy({
      ...options,
      open: () => OpenCluster.start(this.#clusterOptions({ isStandby: true })),
    })
    if (options.membership && !this.seal.isInitialized) this.#awaitInitialization()
    const { seal, sealStorage, generationSlot } = this
    const openCluster = () => this.#openCluster()
    this.#statePaths = createStatePaths({ ...options, seal, sealStorage, generationSlot, openCluster })
    this.closedBackend = createSystemBackend(this.#statePaths, shell.systemRules)
  }

  static async open(options: RuntimeOptions): Promise<Runtime> {
    const { config, random, membership, source, shell } = options
    const surroundings = { ...options, recorder: shell.meter }
    if (membership) {
      const onBroken = (reason: string) => options.changes.restart(reason)
      const { sharedLog } = membership
      const following = await FollowerStore.open({ ...surroundings, sharedLog, onBroken }, options.signal)
      return new Runtime(options, { store: following.store, following, identity: undefined })
    }
    const store = await openStore(source.engine, surroundings)
    try {
      const identity = await ensureIdentity(store, config.clusterName, random)
      return new Runtime(options, { store, following: undefined, identity })
    } catch (error) {
      await store.close()
      throw error
    }
  }

  /** The identity of the cluster. On a standby, the cluster ID is empty until the leader has written the identity. */
  get identity(): OwnIdentity {
    const { clusterName } = this.#options.config
    this.#identity ??= findIdentity(this.store)
    return this.#identity ?? { clusterId: '', clusterName }
  }

  get appliedIndex(): number {
    return this.following?.appliedIndex ?? 0
  }

  lead(leadership: Leadership): Promise<void> {
    return this.#inOpening(async () => {
      // The copy closes in the background, since its audit devices may close slowly.
      this.#copy.discard()
      await this.following?.lead(leadership)
      const { rootKey } = this.seal
      // Another node may have rotated the keyring in the meantime.
      if (rootKey) this.barrier.unseal(rootKey)
      this.#identity = await ensureIdentity(this.store, this.#options.config.clusterName, this.#options.random)
      await this.seal.refreshWrapping()
    })
  }

  /**
   * Opens the cluster. Used on a single-node cluster, and when a node becomes active. Rejects with LogicalError 503 if
   * it is sealed.
   */
  openCluster(): Promise<void> {
    return this.#inOpening(async () => {
      if (this.seal.isSealed) throw sealed()
      await this.#open()
    })
  }

  /** The open cluster; undefined while sealed and on a standby. */
  get cluster(): OpenCluster | undefined {
    return this.#cluster
  }

  /** The copy from which a performance standby serves reads; undefined on every other node. */
  get copy(): OpenCluster | undefined {
    return this.#copy.readable
  }

  /** The same copy; undefined during a resync, when the copy may contain only some writes of a transaction. */
  get wholeCopy(): OpenCluster | undefined {
    return this.store.isResyncing ? undefined : this.copy
  }

  /** The settings of the cluster for web pages; undefined while this node cannot read them. */
  get web(): OpenCluster['services']['web'] | undefined {
    return (this.cluster ?? this.wholeCopy)?.services.web
  }

  async close(): Promise<void> {
    try {
      await this.#close()
    } finally {
      this.barrier.seal()
      await this.following?.stop()
      await this.store.close()
    }
  }

  /** Waits until another node has initialized the cluster. Then unseals this node if it has an auto-unseal seal. */
  #awaitInitialization(): void {
    const stop = this.store.onChange({
      seal: (key) => {
        if (key !== KEYS.sealConfig || !this.seal.isInitialized) return
        stop()
        this.#options.changes.autoUnseal().catch((error: unknown) => {
          this.#options.log.error('auto-unseal failed', { error })
        })
      },
    })
  }

  async #inOpening(work: () => Promise<void>): Promise<void> {
    this.#opening = work()
    await this.#opening
  }

  #openCluster(): OpenCluster {
    if (!this.#cluster) throw sealed()
    return this.#cluster
  }

  /**
   * Makes this node take part in the cluster after an unseal. Checks the license first, since this node may have
   * received the data after its start.
   */
  async #join(membership: NodeMembership): Promise<void> {
    requireLicensedRoles(this.#options.config.own.license, this.store)
    if (this.#options.config.isPerformanceStandby && !membership.isLeading)
      await this.#inOpening(() => this.#copy.open())
    membership.unsealed()
  }

  async #createCluster(): Promise<{ rootToken: string }> {
    const cluster = new OpenCluster(this.#clusterOptions({ isStandby: false }))
    try {
      await cluster.open()
      return { rootToken: (await cluster.services.tokens.createRoot()).id }
    } finally {
      await cluster.close()
    }
  }

  async #open(): Promise<void> {
    this.#cluster = await OpenCluster.start(this.#clusterOptions({ isStandby: false }))
  }

  async #close(): Promise<void> {
    this.generationSlot.clear()
    await this.#opening.catch(() => undefined)
    await this.#copy.close()
    const cluster = this.#cluster
    this.#cluster = undefined
    await cluster?.close()
  }

  #clusterOptions(as: { readonly isStandby: boolean }): OpenClusterOptions {
    return { ...this.#options, ...as, runtime: this, statePaths: this.#statePaths }
  }
}
