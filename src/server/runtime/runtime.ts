import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import type { Network } from '../../base/network.js'
import type { Random } from '../../base/random.js'
import { GenerationAttempt, GenerationSlot } from '../../core/seal/generate-root.js'
import { Rekey } from '../../core/seal/rekey.js'
import { RekeyBackup } from '../../core/seal/rekey-backup.js'
import { SealKeys } from '../../core/seal/seal-keys.js'
import { SealManager } from '../../core/seal/seal-manager.js'
import type { SealStorage } from '../../core/seal/seal-records.js'
import { createSystemBackend } from '../../core/system/backend.js'
import { generateRootPaths } from '../../core/system/generate-root-paths.js'
import { initPaths } from '../../core/system/init-paths.js'
import { raftJoinPath } from '../../core/system/raft-paths.js'
import { rekeyPaths } from '../../core/system/rekey-paths.js'
import { sealPaths } from '../../core/system/seal-paths.js'
import { statusPaths } from '../../core/system/status-paths.js'
import type { Backend, PathSpec } from '../../logical/backend.js'
import { sealed } from '../../logical/errors.js'
import type { AutoSeal } from '../../seal/auto-seal.js'
import { Barrier } from '../../storage/barrier/barrier.js'
import type { EngineSource } from '../../storage/engine/engine-source.js'
import type { Store } from '../../storage/store.js'
import { ensureIdentity, type OwnIdentity } from '../wiring/cluster-identity.js'
import type { ServerConfig } from '../config/config.js'
import { OpenCluster } from '../wiring/open-cluster.js'
import { createSealBarrier, createSealStorage } from '../wiring/seal-parts.js'
import { openStore } from '../data/open-store.js'
import type { RuntimeChanges } from './runtime-changes.js'
import type { RuntimeParts } from './runtime-parts.js'
import type { ShellView } from './shell-view.js'

interface RuntimeOptions {
  readonly config: ServerConfig
  readonly source: EngineSource
  readonly shell: ShellView
  readonly changes: RuntimeChanges
  /** Undefined: key shares alone. */
  readonly autoSeal: AutoSeal | undefined
  readonly clock: Clock
  readonly random: Random
  readonly network: Network
  readonly log: Log
}

/**
 * Everything that is derived from one generation of the data: store, barrier, seal and, while unsealed, the open cluster.
 * A role change tears it down and builds it anew from what is on disk, as a crash would.
 */
export class Runtime implements RuntimeParts {
  readonly store: Store
  readonly barrier: Barrier
  readonly seal: SealManager
  readonly identity: OwnIdentity
  readonly generationSlot = new GenerationSlot()
  readonly sealStorage: SealStorage
  /** The backend that answers while sealed. */
  readonly closedBackend: Backend
  readonly #options: RuntimeOptions
  readonly #statePaths: PathSpec[]
  #cluster: OpenCluster | undefined

  private constructor(options: RuntimeOptions, store: Store, identity: OwnIdentity) {
    const { clock, random, log, shell } = options
    this.#options = options
    this.store = store
    this.identity = identity
    this.barrier = new Barrier({ store, clock, random, encryptions: shell.encryptions })
    this.sealStorage = createSealStorage(store)
    const keys = new SealKeys({ storage: this.sealStorage, autoSeal: options.autoSeal, random })
    this.seal = new SealManager({
      keys,
      storage: this.sealStorage,
      barrier: createSealBarrier(this.barrier),
      hooks: {
        createCluster: () => this.#createCluster(),
        onUnsealed: () => this.#open(),
        onSealed: () => this.#close(),
      },
      random,
      log,
    })
    const attempt = new GenerationAttempt({
      strategy: 'root',
      slot: this.generationSlot,
      seal: this.seal,
      random,
      makeToken: async () => (await this.#openCluster().services.tokens.createRoot()).id,
    })
    const rekey = new Rekey({
      seal: this.seal,
      random,
      isShareOwner: () => !this.#openCluster().replication.isSharedReadOnly,
    })
    this.#statePaths = [
      ...initPaths(this.seal),
      ...sealPaths({ seal: this.seal, status: shell.status }),
      ...statusPaths({ seal: this.seal, status: shell.status, clock }),
      ...generateRootPaths(attempt),
      raftJoinPath(),
      ...rekeyPaths({ rekey, backup: new RekeyBackup(this.sealStorage), keys }),
    ]
    this.closedBackend = createSystemBackend(this.#statePaths, shell.systemRules)
  }

  static async open(options: RuntimeOptions): Promise<Runtime> {
    const { config, random } = options
    const store = await openStore(options.source.engine, { ...options, recorder: options.shell.meter })
    try {
      return new Runtime(options, store, await ensureIdentity(store, config.clusterName, random))
    } catch (error) {
      await store.close()
      throw error
    }
  }

  /** Undefined while sealed. */
  get cluster(): OpenCluster | undefined {
    return this.#cluster
  }

  async close(): Promise<void> {
    try {
      await this.#close()
    } finally {
      this.barrier.seal()
      await this.store.close()
    }
  }

  #openCluster(): OpenCluster {
    if (!this.#cluster) throw sealed()
    return this.#cluster
  }

  async #createCluster(): Promise<{ rootToken: string }> {
    const cluster = this.#makeCluster()
    try {
      await cluster.open()
      return { rootToken: (await cluster.services.tokens.createRoot()).id }
    } finally {
      await cluster.close()
    }
  }

  async #open(): Promise<void> {
    const cluster = this.#makeCluster()
    try {
      await cluster.open()
      await cluster.start()
    } catch (error) {
      await cluster.close()
      throw error
    }
    this.#cluster = cluster
  }

  async #close(): Promise<void> {
    this.generationSlot.clear()
    const cluster = this.#cluster
    this.#cluster = undefined
    await cluster?.close()
  }

  #makeCluster(): OpenCluster {
    return new OpenCluster({ ...this.#options, runtime: this, statePaths: this.#statePaths })
  }
}
