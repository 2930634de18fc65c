import type { Response } from '../../logical/request.js'
import { replicationCaches } from './caches.js'
import type { ReplicationContext } from '../roles/context.js'
import { filterIdsIn } from '../filter/changed-filters.js'
import { FilterStore } from '../filter/filter-store.js'
import { Forwarder } from '../forwarding/forwarder.js'
import type { Holds } from '../host/holds.js'
import type { ReplicationHost, RoleServices } from '../host/host.js'
import { ownOf } from '../roles/keep-losses.js'
import { type Loss, readLosses, toLostEntry } from '../roles/losses.js'
import { collectSuffix, type LostSuffix } from '../roles/lost-suffix.js'
import { isSecondaryStage } from '../model/machine.js'
import { settleStore } from '../roles/settle-store.js'
import { Fences } from '../roles/fences.js'
import { RunningRole } from '../roles/running-role.js'
import { OperationTokens } from '../model/operation-token.js'
import { finishBootstrap } from '../roles/execute.js'
import { KINDS, RoleRecords } from '../roles/role-records.js'
import type { DataPlane } from '../host/services.js'
import { FilteredDataPurge } from '../filter/purge.js'
import { SettledFilter } from '../filter/settled-filter.js'
import { ownFilterId } from '../roles/secondary-role.js'
import { isCopy } from '../model/state.js'
import { renderStatus } from '../paths/status.js'
import type { Kind, SecondaryView } from '../model/types.js'
import { TreeMaintenance } from '../roles/tree-maintenance.js'
import { findOwnFilter, ReplicationView } from './view.js'
import type { Commit } from '../../storage/keys/replicable.js'

interface ReplicationOptions {
  readonly host: ReplicationHost
  readonly dataPlane: DataPlane
  /** The holds of a lab. All runtimes of a process share them, so that a hold survives a restart of the runtime. */
  readonly holds: Holds
}

/**
 * Replication of one runtime, with the records and services of both kinds. It is created when the barrier is unsealed,
 * then started once and stopped once. A role change creates another instance.
 */
export class Replication {
  readonly context: ReplicationContext
  /** The current role facts for core. */
  readonly view: ReplicationView
  readonly forwarder: Forwarder
  readonly #purge: FilteredDataPurge
  #unfollow: (() => void) | undefined
  #unsubscribe: (() => void) | undefined

  constructor({ host, dataPlane, holds }: ReplicationOptions) {
    const roles = new RoleRecords(host)
    const fences = new Fences({
      host,
      roles,
      onFenced: () => {
        for (const kind of KINDS) this.context.running[kind].refuseFollowers()
      },
      onMoved: () => {
        for (const kind of KINDS) this.context.running[kind].primary?.refuseAll(NEW_EPOCH)
      },
    })
    const filters = new FilterStore(host)
    host.followMounts({
      mountChanged: (tx, change) => filters.followMount(tx, change),
      namespaceGone: (tx, gone) => filters.followNamespaceGone(tx, gone),
    })
    const settledFilter = new SettledFilter(host.storage)
    const operationTokens = new OperationTokens(host)
    const purge = new FilteredDataPurge({
      ...host,
      filteredMounts: () => this.#filteredMounts(),
      destroy: () => host.destroyDeleted(),
    })
    const followed: Kind = isSecondaryStage(roles.facts().stages.dr) ? 'dr' : 'performance'
    const beforeReindex = (signal: AbortSignal) => holds.pass(followed, 'reindex', signal)
    const maintenance = new TreeMaintenance({ ...host, beforeReindex })
    const parts = { host, roles, fences, dataPlane, filters, settledFilter, maintenance, operationTokens }
    const roleOf = (kind: Kind): RunningRole =>
      new RunningRole({
        ...parts,
        kind,
        holds,
        standbys: () => this.#standbys(),
        hasCopies: () => (this.context.running.dr.primary?.registry.views() ?? []).length > 0,
        // Performance secondaries also try the addresses of the primary's DR secondaries.
        onSecondariesChange: () => {
          if (kind === 'dr') this.context.running.performance.primary?.addressesChanged()
        },
        beforeFiltered: () => purge.mark(),
        isFilterInEffect: () => purge.isInEffect,
      })
    const running = { dr: roleOf('dr'), performance: roleOf('performance') }
    this.context = { ...parts, running }
    this.view = new ReplicationView(this.context)
    this.#purge = purge
    this.forwarder = new Forwarder({
      ...host,
      follower: () => running.performance.follower,
      appliedIndex: () => running.performance.appliedIndex,
    })
  }

  /** Follows the active node on a standby: updates the role facts from its records, and starts no services. */
  async follow(): Promise<void> {
    this.#unfollow = this.context.host.store.onChange(replicationCaches(this.context))
    await this.context.filters.load()
  }

  /** Starts the services of the stored roles. First completes a role change that a crash interrupted. */
  async start(services: RoleServices): Promise<void> {
    const { store } = this.context.host
    this.#unfollow = store.onChange(replicationCaches(this.context))
    await settleStore(this.context)
    await this.context.filters.load()
    this.#unsubscribe = store.onCommit((commit) => {
      const filterIds = filterIdsIn(commit.mutations)
      if (filterIds.length > 0) this.#filtersChanged(filterIds)
      if (commit.origin === 'resynced' || commit.origin === 'recovered') this.#purge.check()
      // If the filter was deleted for a short time, the primary may have sent data that the restored filter withholds.
      else if (commit.origin === 'applied' && this.#isFiltered(commit)) this.#purge.check()
      else if (commit.origin === 'applied') this.#purge.checkPending()
    })
    await this.#purge.start()
    for (const kind of KINDS) {
      const end = () => finishBootstrap(this.context, services.dev, kind)
      this.context.running[kind].start({ ...services, finishBootstrap: end })
    }
  }

  /** Stops all work. Rejects with the first failure after everything has stopped. */
  async stop(): Promise<void> {
    this.#unsubscribe?.()
    const { roles, running, maintenance } = this.context
    const endings = await Promise.allSettled([
      roles.end(),
      this.#purge.stop(),
      running.dr.stop(),
      running.performance.stop(),
      maintenance.stop(),
    ])
    this.#unfollow?.()
    const failed = endings.find(({ status }) => status === 'rejected')
    if (failed?.status === 'rejected') throw failed.reason
  }

  /** True from the time when a filter first withholds stored data until the files with this data are destroyed. */
  get isPurgePending(): boolean {
    return !this.#purge.isSettled
  }

  /**
   * Informs secondaries of changed addresses. Must be called after a node of this cluster is added, removed or moved.
   */
  addressesChanged(): void {
    for (const kind of KINDS) this.context.running[kind].primary?.addressesChanged()
  }

  #filtersChanged(ids: readonly string[]): void {
    for (const id of ids) if (this.context.filters.noteChange(id)) this.#requireComparison(id)
    this.#purge.check()
    this.#renameSettled().catch((error: unknown) =>
      this.context.host.log.warn('cannot store the paths of filtered mounts', { error: String(error) }),
    )
  }

  /**
   * Updates the paths of the settled filter after a mount was moved. The data needs no new comparison, because the
   * filter withholds the same mounts.
   */
  async #renameSettled(): Promise<void> {
    const { host, roles, filters, settledFilter } = this.context
    const record = roles.record('performance')
    if (!isCopy(record)) return
    const known = filters.known(ownFilterId(record, host, filters))
    if (settledFilter.is(known.digest)) await settledFilter.keep(known)
  }

  /**
   * Returns the mounts that the filter withholds from this performance secondary, or from the primary of this DR copy.
   */
  #filteredMounts(): ReadonlySet<string> {
    return findOwnFilter(this.context)?.filteredMounts ?? NOTHING_FILTERED
  }

  /** Returns true if a commit changes keys that the filter must withhold. */
  #isFiltered(commit: Commit): boolean {
    const filter = findOwnFilter(this.context)
    if (!filter) return false
    for (const { key } of commit.mutations) if (filter.isFiltered(key)) return true
    return false
  }

  /**
   * Makes a secondary compare its data, because its filter has changed. The commit of the change triggers this, and not
   * the API call, because the API call may fail although the change is stored later.
   */
  #requireComparison(filterId: string): void {
    const { roles, running } = this.context
    const record = roles.record('performance')
    if (record.mode !== 'primary') return
    for (const { id, clusterId } of record.registrations)
      if (id === filterId || clusterId === filterId) running.performance.primary?.filterChanged(id)
  }

  /** Returns the response of a status request. */
  status(kind: Kind): Response {
    return { data: renderStatus(this.context.running[kind].status()) }
  }

  /**
   * Resolves to the entries that this cluster discarded, or will discard when it follows its new primary. With
   * `isHeld`, those that it still has although its primary has lost them. `/_understudy/v1/losses` shows both.
   * `isSettled`: the data of this cluster shows that the entries are lost.
   */
  async losses(isHeld = false): Promise<(Loss & { readonly isSettled: boolean })[]> {
    const { storage } = this.context.host
    const found = await readLosses(storage, ({ open }) => (open?.isHeld ?? false) === isHeld)
    return found.map(({ loss: { open, ...loss } }) => ({
      ...loss,
      entries: loss.entries.map(toLostEntry),
      isSettled: open === undefined,
    }))
  }

  /**
   * Resolves to the entries that this primary has accepted since a newer primary replaced it, for
   * `/_understudy/v1/info`.
   */
  async acceptedSinceFence(): Promise<Pick<LostSuffix, 'entries' | 'entriesBeyond'>> {
    const { host, fences } = this.context
    for (const kind of KINDS) {
      const forkIndex = fences.of(kind)?.forkIndex
      if (forkIndex === undefined) continue
      return collectSuffix(host.store, ownOf(host, kind), forkIndex, host.mounts())
    }
    return { entries: [], entriesBeyond: 0 }
  }

  #standbys(): readonly SecondaryView[] {
    return this.context.running.dr.primary?.registry.views().filter((view) => view.isConnected) ?? []
  }
}

const NEW_EPOCH = { ok: false, code: 'unavailable', text: 'this primary begins a new epoch' } as const

const NOTHING_FILTERED: ReadonlySet<string> = new Set()
