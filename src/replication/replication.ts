import type { Response } from '../logical/request.js'
import type { ReplicationContext } from './context.js'
import { currentEpoch } from './roles/epoch.js'
import { FilterStore } from './filter/filter-store.js'
import { Forwarder } from './forwarding/forwarder.js'
import type { Holds } from './holds.js'
import type { ReplicationHost } from './host.js'
import { ownOf } from './roles/keep-losses.js'
import { collectSuffix, type Loss, type LostSuffix, readLosses } from './roles/losses.js'
import { isSecondaryStage } from './roles/machine.js'
import { Fences } from './roles/fences.js'
import { Manager } from './roles/manager.js'
import { OperationTokens } from './credentials/operation-token.js'
import { finishBootstrap } from './paths/operate-secondary.js'
import { filterIdOf } from './roles/primary-role.js'
import { KINDS, Roles } from './roles/roles.js'
import type { DataPlane } from './services.js'
import { FilteredDataPurge } from './filter/purge.js'
import { SettledFilter } from './filter/settled-filter.js'
import { ownFilterId } from './roles/secondary-role.js'
import { isCopy, recordKey } from './roles/state.js'
import { renderStatus } from './paths/status.js'
import type { Kind, SecondaryView } from './types.js'
import { TreeMaintenance } from './roles/tree-maintenance.js'
import { ReplicationView } from './view.js'
import { KEYS } from '../storage/key-families.js'

interface ReplicationOptions {
  readonly host: ReplicationHost
  readonly dataPlane: DataPlane
  /** Shared by all runtimes of a process, so that what a lab holds stays held over a restart. */
  readonly holds: Holds
}

/**
 * Replication of one runtime: both kinds, their records and what runs because of them. Made when the barrier is open,
 * started once, stopped once; a role change makes another one.
 */
export class Replication {
  readonly context: ReplicationContext
  readonly forwarder: Forwarder
  readonly filters: FilterStore
  readonly operationTokens: OperationTokens
  readonly #host: ReplicationHost
  readonly #roles: Roles
  readonly #fences: Fences
  readonly #purge: FilteredDataPurge
  readonly #settledFilter: SettledFilter
  #unsubscribe: (() => void) | undefined

  constructor({ host, dataPlane, holds }: ReplicationOptions) {
    this.#host = host
    this.#roles = new Roles(host)
    this.#fences = new Fences({
      host,
      roles: this.#roles,
      onFenced: () => {
        for (const kind of KINDS) this.context.managers[kind].refuseFollowers()
      },
    })
    this.filters = new FilterStore({
      storage: host.storage,
      mounts: () => host.mounts(),
      namespaces: () => host.namespaces(),
      onMoreFiltered: (ids) => this.#moreFiltered(ids),
    })
    host.followMounts({
      mountChanged: (tx, change) => this.filters.followMount(tx, change),
      namespaceGone: (tx, gone) => this.filters.followNamespaceGone(tx, gone),
    })
    this.#settledFilter = new SettledFilter(host.storage)
    this.operationTokens = new OperationTokens({
      storage: host.storage,
      random: host.random,
      isBatchTokenAllowed: (token, request) => host.isBatchTokenAllowed(token, request),
    })
    this.#purge = new FilteredDataPurge({
      storage: host.storage,
      store: host.store,
      filteredMounts: () => this.#filteredMounts(),
      destroy: () => host.destroyDeleted(),
      random: host.random,
      log: host.log,
    })
    const followed: Kind = isSecondaryStage(this.#roles.facts().stages.dr) ? 'dr' : 'performance'
    const upkeep = new TreeMaintenance({
      storage: host.storage,
      store: host.store,
      trees: host.upkeep,
      clock: host.clock,
      log: host.log,
      beforeReindex: (signal) => holds.pass(followed, 'reindex', signal),
    })
    const managers: Record<Kind, Manager> = {
      dr: this.#manager('dr', dataPlane, holds, upkeep),
      performance: this.#manager('performance', dataPlane, holds, upkeep),
    }
    const { filters, operationTokens } = this
    const settledFilter = this.#settledFilter
    this.context = {
      host,
      roles: this.#roles,
      fences: this.#fences,
      dataPlane,
      filters,
      settledFilter,
      upkeep,
      operationTokens,
      managers,
    }
    this.forwarder = new Forwarder({
      ...host,
      follower: () => managers.performance.follower,
      appliedIndex: () => managers.performance.appliedIndex,
    })
  }

  #manager(kind: Kind, dataPlane: DataPlane, holds: Holds, upkeep: TreeMaintenance): Manager {
    return new Manager({
      kind,
      host: this.#host,
      roles: this.#roles,
      fences: this.#fences,
      dataPlane,
      filters: this.filters,
      settledFilter: this.#settledFilter,
      holds,
      upkeep,
      standbys: () => this.#standbys(),
      // Performance secondaries look for their primary at its DR copies, too.
      onSecondariesChange: () => {
        if (kind === 'dr') this.context.managers.performance.primary?.addressesChanged()
      },
      finishBootstrap: () => finishBootstrap(this.context, kind),
      beforeFiltered: () => this.#purge.mark(),
      isFilterInEffect: () => this.#purge.isInEffect,
    })
  }

  /** Brings up what the records say. What a crash left half done is finished first. */
  async start(): Promise<void> {
    await this.#settleStore()
    await this.filters.load()
    this.#unsubscribe = this.#host.store.onCommit((commit) => {
      for (const { key } of commit.mutations) {
        if (key !== recordKey('performance') || commit.origin !== 'own') this.invalidate(key)
      }
      if (commit.origin === 'resynced' || commit.origin === 'recovered') this.#purge.check()
      else if (commit.origin === 'applied') this.#purge.checkPending()
    })
    await this.#purge.start()
    this.context.managers.dr.start()
    this.context.managers.performance.start()
  }

  /** Resolves, or rejects with the first failure, when nothing is at work any more. */
  async stop(): Promise<void> {
    this.#unsubscribe?.()
    const { managers, upkeep } = this.context
    const endings = await Promise.allSettled([
      this.#purge.stop(),
      managers.dr.stop(),
      managers.performance.stop(),
      upkeep.stop(),
    ])
    const failed = endings.find(({ status }) => status === 'rejected')
    if (failed?.status === 'rejected') throw failed.reason
  }

  /** Replication, or this cluster, changed a key that something here was read from. */
  invalidate(key: string): void {
    if (key === recordKey('performance')) this.#roles.reload()
    else if (key.startsWith(KEYS.filters)) this.#filterChanged(key)
  }

  /** True from the moment a filter hides data until the files that held it are destroyed, as far as this runtime knows. */
  get isPurgePending(): boolean {
    return !this.#purge.isSettled
  }

  #filterChanged(key: string): void {
    this.filters.invalidateKey(key)
    this.#purge.check()
    this.#renameSettled().catch((error: unknown) =>
      this.#host.log.warn('the names of filtered mounts were not kept', { error: String(error) }),
    )
  }

  /** A filter that only has other names for the same mounts is still the one that the data was compared under. */
  async #renameSettled(): Promise<void> {
    const record = this.#roles.record('performance')
    if (!isCopy(record)) return
    const known = this.filters.known(ownFilterId(record, this.#host, this.filters))
    if (this.#settledFilter.is(known.digest)) await this.#settledFilter.keep(known)
  }

  /** The mounts that the filter of this performance secondary, or of the one it is a DR copy of, holds back. */
  #filteredMounts(): ReadonlySet<string> {
    const record = this.#roles.record('performance')
    if (!isCopy(record)) return NOTHING_FILTERED
    const original = this.context.managers.dr.follower?.primary?.clusterId ?? ''
    const id = ownFilterId(record, this.#host, this.filters)
    const found = this.filters.compiled(id) ?? (original === '' ? undefined : this.filters.compiled(original))
    return found?.filteredMounts ?? NOTHING_FILTERED
  }

  /** The data of a mount that was shown until the mount moved has to leave the secondaries of these filters. */
  #moreFiltered(ids: readonly string[]): void {
    const record = this.#roles.record('performance')
    if (record.mode !== 'primary') return
    for (const { id } of record.registrations) {
      if (!ids.includes(filterIdOf(record, id, this.filters))) continue
      this.context.managers.performance.primary?.filterChanged(id)
    }
  }

  /** The facts about the roles that core needs. Read fresh at each use. */
  get view(): ReplicationView {
    return new ReplicationView(this.context)
  }

  /** `data` of a status read. */
  status(kind: Kind): Response {
    return { data: renderStatus(this.context.managers[kind].status()) }
  }

  /** The entries that were given up at failovers, as `/_understudy/v1/losses` shows them. */
  losses(): Promise<Loss[]> {
    return readLosses(this.#host.storage)
  }

  /** The entries that this primary accepted since it was overtaken, as `/_understudy/v1/info` shows them. */
  async acceptedSinceFence(): Promise<Pick<LostSuffix, 'entries' | 'entriesBeyond'>> {
    for (const kind of KINDS) {
      const forkIndex = this.#fences.of(kind)?.forkIndex
      if (forkIndex === undefined) continue
      return collectSuffix(this.#host.store, ownOf(this.#host, kind), forkIndex, this.#host.mounts())
    }
    return { entries: [], entriesBeyond: 0 }
  }

  #standbys(): readonly SecondaryView[] {
    return this.context.managers.dr.primary?.registry.views().filter((view) => view.isConnected) ?? []
  }

  /** Makes the store agree with the roles: whom it follows, and the epoch that it writes in. */
  async #settleStore(): Promise<void> {
    const { store } = this.#host
    const { dr, performance } = this.#roles.records
    const record = isSecondaryStage(this.#roles.facts().stages.dr) ? dr : performance
    if (performance.mode !== 'bootstrapping' && !isCopy(performance)) await this.#settledFilter.forget()
    const isFollower = record.mode === 'secondary' || record.mode === 'bootstrapping'
    if (isFollower) {
      const place = store.remotePosition
      const isForeign = place !== undefined && !record.epochs.some((epoch) => epoch.id === place.epoch)
      if (isForeign || (!record.hasFollowed && place)) await store.forgetRemote()
    } else if (store.remotePosition || store.isResyncing) {
      if (store.isResyncing) await this.context.upkeep.reindexNow()
      await store.forgetRemote()
    }
    const written =
      dr.mode === 'primary'
        ? dr
        : performance.mode === 'primary' && !isSecondaryStage(this.#roles.facts().stages.dr)
          ? performance
          : undefined
    const epoch = written && currentEpoch(written.epochs)?.id
    if (epoch !== undefined && epoch !== store.epoch) await store.setEpoch(epoch)
  }
}

const NOTHING_FILTERED: ReadonlySet<string> = new Set()
