import { type MountEntry, routePath } from '../../core/mounts/mount-entry.js'
import type { RequestForwarder } from '../../core/pipeline/request-handler.js'
import type { Presence } from '../../core/mounts/router.js'
import { sealed } from '../../logical/errors.js'
import type { JsonObject } from '../../logical/json.js'
import { createDataPlane } from '../../replication/runtime/data-plane.js'
import type { MountFact } from '../../replication/model/compile-filter.js'
import type { ReplicationHost, RoleServices } from '../../replication/host/host.js'
import { Replication } from '../../replication/runtime/replication.js'
import type { DataPlane } from '../../replication/host/services.js'
import type { Kind, ReplicationTimes } from '../../replication/model/types.js'
import type { ReplicationView } from '../../replication/runtime/view.js'
import type { Category } from '../../storage/keys/key-families.js'
import type { ServerConfig } from '../config/config.js'
import { GenerationMove } from '../../storage/generations/generation-move.js'
import { CommitTimes } from './commit-times.js'
import { fetchWrapped } from './api-call.js'
import type { OpenClusterOptions } from '../parts/parts.js'
import { nodeRecords, prepareGeneration } from './snapshots.js'
import { SharedDestruction } from './shared-destruction.js'
import { fenceWrites } from './write-fence.js'
import { MountTable } from '../../core/mounts/mount-table.js'
import { NamespaceStore } from '../../core/namespaces/namespaces.js'
import type { Storage } from '../../logical/storage.js'

export const replicationTimes = ({ own }: ServerConfig): ReplicationTimes => ({
  ...own,
  backoffInitialMs: own.reconnectBackoffInitialMs,
  backoffMaxMs: own.reconnectBackoffMaxMs,
  connectTimeoutMs: own.pingTimeoutMs,
})

const ALL: ReadonlySet<Category> = new Set(['replicated', 'local', 'ignored'])
const OWN_DATA: ReadonlySet<Category> = new Set(['local', 'ignored'])
const NOTHING_SHARED: ReadonlySet<Category> = new Set(['ignored'])

type PartsOptions = OpenClusterOptions & { readonly tables: CoreTables }

/**
 * Connects replication to the open cluster. Provides the host that replication uses, and the state of replication for
 * the core.
 */
export class ReplicationParts {
  readonly replication: Replication
  readonly forwarder: RequestForwarder
  readonly destruction: GenerationMove | SharedDestruction
  readonly commitTimes: CommitTimes
  readonly #options: PartsOptions
  #unfollow: (() => void) | undefined
  #unsubscribe: (() => void) | undefined

  constructor(options: PartsOptions) {
    this.#options = options
    this.destruction = options.membership
      ? new SharedDestruction(options)
      : new GenerationMove({ ...options, store: options.runtime.store })
    this.commitTimes = new CommitTimes(options.clock, options.runtime.store.position.index)
    const host = this.#createHost()
    this.replication = new Replication({ host, dataPlane: this.#dataPlane(host), holds: options.shell.holds })
    this.forwarder = this.replication.forwarder
  }

  get view(): ReplicationView {
    return this.replication.view
  }

  get nodes(): number {
    return 1 + (this.#options.membership?.presence.otherAddresses.length ?? 0)
  }

  /** True if this cluster cannot write replicated keys, since it is a secondary. */
  get isSharedReadOnly(): boolean {
    return this.view.isPerformanceSecondary || this.view.isDrSecondary
  }

  /**
   * The cluster ID of the primary, and the index of the last entry of its log that this cluster applied; undefined if
   * this cluster has no primary.
   */
  get upstream(): { clusterId: string; appliedIndex: number } | undefined {
    const { primaryClusterId, lastRemoteWal } = this.view
    return this.isSharedReadOnly ? { clusterId: primaryClusterId, appliedIndex: lastRemoteWal } : undefined
  }

  presenceOf({ uuid }: MountEntry): Presence {
    const { ownFilter, arrivingMounts, hasPrimary } = this.view
    if (ownFilter?.filteredMounts.has(uuid)) return 'filtered'
    if (!arrivingMounts.has(uuid)) return 'here'
    return hasPrimary ? 'arriving' : 'stranded'
  }

  /** Returns true if a filter hides the namespace and its contents from this performance secondary. */
  hidesNamespace(path: string): boolean {
    return this.view.ownFilter?.hiddenNamespaces.has(path) ?? false
  }

  statusData(kind: Kind): JsonObject {
    return this.replication.status(kind).data as JsonObject
  }

  /** Restricts the store to keys that this cluster may write. Must be called before the first write. */
  limitWrites(): void {
    const { store } = this.#options.runtime
    store.setWritable(this.#writable())
  }

  start(services: RoleServices): Promise<void> {
    const { store } = this.#options.runtime
    this.#unsubscribe = store.onCommit(() => this.commitTimes.committed(store.position.index))
    this.#unfollow = this.#options.membership?.presence.onOthers(() => this.replication.addressesChanged())
    return this.replication.start(services)
  }

  async stop(): Promise<void> {
    this.#unfollow?.()
    this.#unsubscribe?.()
    try {
      await this.replication.stop()
    } finally {
      await this.destruction.stop()
    }
  }

  /** True while the files may still contain data that a filter removed. */
  get isPurgePending(): boolean {
    return this.destruction.isRunning || this.replication.isPurgePending
  }

  #writable(): ReadonlySet<Category> {
    if (this.view.isDrSecondary) return NOTHING_SHARED
    return this.isSharedReadOnly ? OWN_DATA : ALL
  }

  #dataPlane(host: ReplicationHost): DataPlane {
    const { shell, config } = this.#options
    return createDataPlane({
      host,
      port: shell.clusterPort,
      transport: shell.transport,
      shipBatchBytes: config.own.shipBatchBytes,
    })
  }

  #createHost(): ReplicationHost {
    const { config, runtime, shell, changes, tables, membership, clock, random, network, log } = this.#options
    const { barrier, store, seal, identity } = runtime
    return {
      identity: {
        ...identity,
        apiAddress: config.apiAddress,
        clusterAddress: config.clusterAddress,
        get clusterAddresses() {
          return [config.clusterAddress, ...(membership?.presence.otherAddresses ?? [])]
        },
        reportedVersion: config.own.reportedVersion,
      },
      isLeading: () => membership?.isLeading ?? true,
      settings: {
        ...config.own,
        times: replicationTimes(config),
        bestEffortWalWaitMs: config.replication.bestEffortWalWaitMs,
        isDevelopment: config.dev !== undefined,
        hasSeveralNodes: membership !== undefined,
      },
      license: config.own.license,
      clock,
      random,
      log: log.with({ logger: 'replication' }),
      recorder: shell.meter,
      storage: barrier.view(''),
      store,
      commit: async (write) => {
        // `barrier.write` calls `write` synchronously, so no other write runs while all categories are writable.
        store.setWritable(ALL)
        try {
          const committed = barrier.write(write)
          this.limitWrites()
          await committed
        } finally {
          this.limitWrites()
        }
      },
      exportKeyMaterial: () => {
        if (!seal.rootKey) throw sealed()
        return seal.keys.exportMaterial(seal.rootKey)
      },
      wipeAndRestart: async ({ keyMaterial, records, joining }) => {
        const { rootKey } = keyMaterial
        const content = {
          ...this.#options,
          identity,
          rootKey,
          sealRecords: await seal.keys.recordsToAdopt(keyMaterial),
          records: [...records, ...(await nodeRecords(barrier.view('')))],
        }
        return changes.replaceData('storage is wiped', {
          rootKeyAfter: () => rootKey,
          prepare: (fresh) => prepareGeneration(fresh, content),
          joining,
        })
      },
      fenceWrites: (kind) => fenceWrites(kind, store, changes),
      restart: (reason) => changes.restart(reason),
      destroyDeleted: () => this.destruction.schedule(),
      fetchWrapped: shell.overrides?.fetchWrapped ?? ((call) => fetchWrapped(call, network)),
      certificateKeys: shell.overrides?.certificateKeys,
      // Filters also use pending changes, since a batch that moves a mount may also contain entries of this mount.
      mounts: () => tables.table.allDecided().flatMap((entry) => mountFact(entry, tables)),
      namespaces: () => tables.namespaces.allDecided(),
      followMounts: ({ mountChanged, namespaceGone }) => {
        tables.table.follow((tx, before, after) => {
          const [was] = mountFact(before, tables)
          const [is] = after ? mountFact(after, tables) : []
          return was ? mountChanged(tx, { before: was, after: is }) : () => undefined
        })
        tables.namespaces.follow(namespaceGone)
      },
    }
  }
}

const mountFact = (entry: MountEntry, { namespaces }: CoreTables): MountFact[] => {
  const namespace = namespaces.findById(entry.namespaceId)
  if (!namespace) return []
  return [
    {
      uuid: entry.uuid,
      path: namespace.path + routePath(entry),
      namespacePath: namespace.path,
      type: entry.type,
      isLocal: entry.isLocal,
    },
  ]
}

/** The tables of namespaces and mounts. The core and the replication filters use them. */
export interface CoreTables {
  readonly namespaces: NamespaceStore
  readonly table: MountTable
}

export const createCoreTables = (storage: Storage): CoreTables => {
  const namespaces = new NamespaceStore(storage)
  return { namespaces, table: new MountTable(storage, namespaces) }
}
