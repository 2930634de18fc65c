import type { Timer } from '../../base/clock.js'
import { LogicalError } from '../../logical/errors.js'
import { isSamePosition, keepAnnounced, lastIndexOf, measureProgress, readAnnounced } from '../host/announced.js'
import { drain, type Straggler } from './drain.js'
import { primaryCredentialsOf, serverIdentityOf } from '../credentials/ca.js'
import { EPOCH_ENDED, type Fences } from './fences.js'
import { tellFormerPrimary } from './former-primary.js'
import type { FilterStore } from '../filter/filter-store.js'
import type { Holds } from '../host/holds.js'
import type { ReplicationHost, RoleServices } from '../host/host.js'
import { isDormant, type Mode, type SafetyFacts } from '../model/machine.js'
import { type PrimaryHost, PrimaryRole } from './primary-role.js'
import type { RoleRecords } from './role-records.js'
import { ownFilterId, type SecondaryHost, SecondaryRole } from './secondary-role.js'
import type { SettledFilter } from '../filter/settled-filter.js'
import type { SurplusEntries } from '../model/recent-frames.js'
import type { DataPlane, FollowerService, PrimaryService } from '../host/services.js'
import { aheadOf, epochIdOf, type PrimaryRecord, type SecondaryRecord } from '../model/state.js'
import { type StatusFacts, statusOf } from './status-facts.js'
import type { Kind, PrimaryPosition, SecondaryView } from '../model/types.js'
import type { TreeMaintenance } from './tree-maintenance.js'

interface RunningRoleOptions {
  readonly kind: Kind
  readonly host: PrimaryHost & SecondaryHost & Pick<ReplicationHost, 'random'>
  readonly roles: RoleRecords
  readonly fences: Fences
  readonly dataPlane: DataPlane
  readonly filters: FilterStore
  readonly settledFilter: SettledFilter
  readonly holds: Holds
  readonly maintenance: TreeMaintenance
  readonly standbys: () => readonly SecondaryView[]
  /** Returns true if a DR secondary has connected since the start. It may replace this cluster later. */
  readonly hasCopies: () => boolean
  /** Called when a secondary of this kind connects, disconnects or changes its addresses. */
  readonly onSecondariesChange: () => void
  /** Awaited before data is deleted because a filter withholds it. */
  readonly beforeFiltered: () => Promise<void>
  readonly isFilterInEffect: () => boolean
}

/** Services of core, which exist only after core has started. */
interface StartServices extends RoleServices {
  readonly finishBootstrap: () => Promise<void>
}

/**
 * The running services of one kind of replication. `start` creates them from the stored record, after a crash in the
 * same way as after a role change. This class never changes a role.
 */
export class RunningRole {
  readonly #options: RunningRoleOptions
  readonly #stopped = new AbortController()
  readonly #startMs: number
  #primary: PrimaryService | undefined
  #follower: FollowerService | undefined
  #timer: Timer | undefined
  #telling: Promise<void> | undefined

  constructor(options: RunningRoleOptions) {
    this.#options = options
    this.#startMs = options.host.clock.now()
  }

  get primary(): PrimaryService | undefined {
    return this.#primary
  }

  /** The applied position in the primary's log. The stored position may lag while no entry changes local data. */
  get applied(): PrimaryPosition | undefined {
    const stored = this.#options.host.store.remotePosition
    const followed = this.#follower?.applied
    return followed && !(stored?.epoch === followed.epoch && stored.index > followed.index) ? followed : stored
  }

  get appliedIndex(): number {
    return this.applied?.index ?? 0
  }

  get connectedIds(): readonly string[] {
    const views = this.#primary?.registry.views() ?? []
    return views.filter((view) => view.isConnected).map((view) => view.secondaryId)
  }

  /** The follower; undefined while this cluster is ahead of its primary and only looks for a newer one. */
  get follower(): FollowerService | undefined {
    const { kind, roles } = this.#options
    return aheadOf(roles.record(kind)) ? undefined : this.#follower
  }

  /** Returns the received frames after `index` of the primary's log that are still in memory. */
  recentAfter(index: number): Pick<SurplusEntries, 'frames' | 'isComplete'> {
    return this.#follower?.recentAfter(index) ?? { frames: [], isComplete: false }
  }

  /** The mode that the API shows. The performance role of a DR secondary is shown as disabled. */
  get mode(): Mode {
    const { kind, roles } = this.#options
    return isDormant(kind, roles.facts()) ? 'disabled' : roles.record(kind).mode
  }

  start(services: StartServices): void {
    const { kind, roles } = this.#options
    if (isDormant(kind, roles.facts())) return
    const record = roles.record(kind)
    if (record.mode === 'primary') this.#startPrimary(record, services)
    else if (record.mode !== 'disabled') this.#startSecondary(record, services)
  }

  /**
   * Waits until the secondaries of this primary have applied the whole log. Writes must be fenced. Resolves to the
   * secondaries that have not applied it in time.
   */
  async drain(): Promise<readonly Straggler[]> {
    const { kind, host, roles } = this.#options
    const record = roles.record(kind)
    if (!this.#primary || record.mode !== 'primary') return []
    return drain({
      registry: this.#primary.registry,
      registrations: record.registrations,
      index: lastIndexOf(host.store, kind),
      timeoutMs: host.settings.demoteDrainTimeoutMs,
      clock: host.clock,
      signal: this.#stopped.signal,
    })
  }

  /** Stops the follower permanently, after its received data is applied and stored. */
  async stopFollowing(): Promise<void> {
    await this.#keepAnnounced()
    await this.#follower?.stop()
  }

  async stop(): Promise<void> {
    this.#stopped.abort(new LogicalError('unavailable', 'replication is stopping'))
    this.#timer?.cancel()
    const { kind, roles, hasCopies } = this.#options
    // True for a primary that gave up its role and has no copy that can continue its epoch.
    const isOver = roles.record(kind).mode === 'disabled' || (isDormant(kind, roles.facts()) && !hasCopies())
    if (isOver) this.#primary?.refuseAll(EPOCH_ENDED)
    try {
      await this.#keepAnnounced()
    } finally {
      // Must happen even if the storage failed. Otherwise, this follower would still run when the next runtime starts.
      await Promise.all([this.#primary?.stop(), this.#follower?.stop(), this.#telling])
      this.#primary = undefined
      this.#follower = undefined
    }
  }

  #startPrimary(record: PrimaryRecord, services: StartServices): void {
    const { kind, dataPlane, host, onSecondariesChange: onChange } = this.#options
    const hooks = new PrimaryRole({ ...this.#options, services })
    this.#primary = dataPlane.startPrimary(kind, { identity: serverIdentityOf(record.ca), hooks, onChange })
    const { registry } = this.#primary
    const { signal } = this.#stopped
    this.#telling = tellFormerPrimary({ ...this.#options, record, hooks, registry, signal })
    host.log.info('replication started', { kind, mode: record.mode, epoch: epochIdOf(record) })
  }

  #startSecondary(record: SecondaryRecord, { finishBootstrap }: StartServices): void {
    const { kind, dataPlane, host } = this.#options
    if (!record.credentials) return
    if (record.ahead)
      host.log.error('ahead of the primary, which lost entries; replication is stopped', { kind, ...record.ahead })
    const hooks = new SecondaryRole({
      ...this.#options,
      finishBootstrap,
      reindex: () => this.#options.maintenance.reindexNow(),
      signal: this.#stopped.signal,
    })
    this.#follower = dataPlane.startFollower(kind, {
      credentials: primaryCredentialsOf(record.credentials),
      addresses: record.credentials.primaryAddresses,
      formerAddresses: record.credentials.formerAddresses,
      hooks,
    })
    this.#timer = host.clock.setRepeating(host.settings.times.heartbeatIntervalMs, () => {
      this.#keepAnnounced().catch((error: unknown) =>
        host.log.warn('cannot store the announced index', { kind, error: String(error) }),
      )
    })
    host.log.info('replication started', { kind, mode: record.mode, epoch: epochIdOf(record) })
  }

  /** Ends the streams of this primary if it is fenced. */
  refuseFollowers(): void {
    const { fences, kind } = this.#options
    const fence = fences.of(kind)
    if (fence) this.#primary?.refuseAll(fences.refusal(fence))
  }

  #announced(): PrimaryPosition | undefined {
    const { host, kind } = this.#options
    const kept = readAnnounced(host, kind)
    const received = this.#follower?.announced
    if (!received) return kept
    return kept?.epoch === received.epoch && kept.index >= received.index ? kept : received
  }

  async #keepAnnounced(): Promise<void> {
    const { host, kind } = this.#options
    const kept = readAnnounced(host, kind)
    const announced = this.#announced()
    if (!announced || isSamePosition(kept, announced)) return
    const position = host.store.remotePosition
    if (position?.epoch === announced.epoch && position.index >= announced.index) return
    await keepAnnounced(host, kind, announced)
  }

  /** Returns the facts that decide whether a promotion without force is possible now. */
  safety(): SafetyFacts {
    const { host, kind, roles, maintenance, filters, settledFilter } = this.#options
    const record = roles.record(kind)
    if (record.mode === 'disabled' || record.mode === 'primary') throw new Error('only a secondary can be promoted')
    const { remotePosition, isResyncing } = host.store
    const progress = record.hasFollowed
      ? measureProgress(this.applied, this.#announced(), record.epochs)
      : { applied: 0, announced: 0, isBehindEpoch: false }
    const filterId = ownFilterId(record, host, filters)
    const rule = kind === 'performance' && record.hasFollowed ? filters.find(filterId) : undefined
    const isSettled = kind === 'dr' || settledFilter.is(filters.known(filterId).digest)
    return {
      isSyncComplete: !isResyncing && (!record.hasFollowed || (remotePosition !== undefined && isSettled)),
      streamState: this.follower?.state ?? 'idle',
      isReindexing: maintenance.isReindexing,
      appliedIndex: progress.applied,
      announcedIndex: progress.announced,
      isBehindEpoch: progress.isBehindEpoch,
      filter: rule && `${rule.mode} ${rule.paths.join(', ')}`,
    }
  }

  status(): StatusFacts {
    const { kind, roles } = this.#options
    if (isDormant(kind, roles.facts())) return { mode: 'disabled' }
    const { appliedIndex } = this
    return statusOf(roles.record(kind), {
      ...this.#options,
      views: this.#primary?.registry.views() ?? [],
      follower: this.follower,
      appliedIndex,
      startMs: this.#startMs,
    })
  }
}
