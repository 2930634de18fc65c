import { continueAlignment, keepAlignment } from './alignment.js'
import { compareEpochs, currentEpoch, isOvertakenBy } from '../model/epoch.js'
import type { FilterRecord } from '../model/filter-record.js'
import type { FilterStore } from '../filter/filter-store.js'
import type { Holds } from '../host/holds.js'
import type { ReplicationHost } from '../host/host.js'
import { keepSurplusLoss, LOSS_REASONS } from './keep-losses.js'
import { settleLosses } from './settle-losses.js'
import { whoOfSecondary } from './presented-identity.js'
import type { RoleRecords } from './role-records.js'
import type { SurplusEntries } from '../model/recent-frames.js'
import { type KindRecord, ownEpochsOf, type SecondaryRecord } from '../model/state.js'
import { knownFilter, type SettledFilter } from '../filter/settled-filter.js'
import type { HoldState, Kind, PeerIdentity, PrimaryAddresses, SecondaryHooks } from '../model/types.js'

/** The fingerprint if the data was not compared under the current filter. No filter has this fingerprint. */
const UNSETTLED = 'unsettled'

const FINISH_AGAIN_MS = 1_000

const LOST_ENTRIES = 'the primary has lost entries that this cluster has'

export type SecondaryHost = Pick<ReplicationHost, 'identity' | 'storage' | 'store' | 'mounts' | 'clock' | 'log'>

interface SecondaryRoleOptions {
  readonly kind: Kind
  readonly host: SecondaryHost
  readonly roles: RoleRecords
  readonly filters: FilterStore
  readonly settledFilter: SettledFilter
  readonly holds: Holds
  /** Completes the first copy: changes the role from bootstrapping to secondary. */
  readonly finishBootstrap: () => Promise<void>
  readonly reindex: () => Promise<void>
  /** Aborted when this role ends. */
  readonly signal: AbortSignal
  readonly beforeFiltered: () => Promise<void>
  /** Returns false while this cluster may still store data that the current filter withholds. */
  readonly isFilterInEffect: () => boolean
}

/** The hooks of a follower: the identity of this cluster, the primaries that it may follow, and when it must wait. */
export class SecondaryRole implements SecondaryHooks {
  readonly #options: SecondaryRoleOptions
  #isFinishing = false

  constructor(options: SecondaryRoleOptions) {
    this.#options = options
  }

  who(): PeerIdentity {
    const { host, roles, kind } = this.#options
    return { ...whoOfSecondary(host, this.#record()), ended: ownEpochsOf(roles.records, kind) }
  }

  /**
   * Returns the reason why this cluster must not follow `primary`, or undefined if it may. An outdated primary fences
   * itself, because it receives the epochs of this cluster with each call.
   */
  findObjection(primary: PeerIdentity): string | undefined {
    const record = this.#record()
    if (primary.setId !== record.setId) return 'the primary belongs to another replication set'
    if (primary.clusterId === this.#options.host.identity.clusterId) return 'a cluster cannot be its own secondary'
    if (record.ahead && record.ahead.epoch === currentEpoch(primary.epochs)?.id) return LOST_ENTRIES
    const relation = compareEpochs(record.epochs, primary.epochs)
    if (relation === 'same') return undefined
    return isOvertakenBy(record.epochs, primary.epochs)
      ? undefined
      : 'the primary belongs to an older epoch of this set'
  }

  isAhead(): boolean {
    return this.#record().ahead !== undefined
  }

  takeEpochs(primary: PeerIdentity): Promise<void> {
    return this.#update((record) => {
      const { ahead, ...rest } = record
      const isKnown = ahead === undefined && compareEpochs(record.epochs, primary.epochs) === 'same'
      return isKnown ? record : { ...rest, epochs: primary.epochs }
    })
  }

  onEpochEnded(): void {
    this.#change((record) => ({ ...record, endedEpoch: currentEpoch(record.epochs)?.id ?? '' }))
  }

  servesReads(): boolean {
    return this.#record().mode === 'secondary'
  }

  /** Waits while a lab holds the state. `bootstrapping` is held before the first comparison. */
  async beforeState(state: HoldState, signal: AbortSignal): Promise<void> {
    const { holds, kind } = this.#options
    if (state === 'merkle-diff' && !this.servesReads()) await holds.pass(kind, 'bootstrapping', signal)
    await holds.pass(kind, state, signal)
  }

  /**
   * Returns the fingerprint of the filter in effect, or an empty string without a filter. If the data was not compared
   * under the current filter, returns `unsettled`, so that the primary starts a comparison.
   */
  filterFingerprint(): string {
    const { kind, filters, settledFilter, host, isFilterInEffect } = this.#options
    if (kind !== 'performance') return ''
    const id = ownFilterId(this.#record(), host, filters)
    if (!settledFilter.is(filters.known(id).digest)) return UNSETTLED
    return isFilterInEffect() ? (filters.compiled(id)?.fingerprint ?? '') : ''
  }

  /** Records the filter of the comparison, which may differ from the current filter. */
  async onCompared(rule: string): Promise<void> {
    const { kind, filters, settledFilter, host } = this.#options
    await settleLosses(host, kind)
    if (kind === 'dr') return keepAlignment(host)
    const compared = knownFilter(rule === '' ? undefined : (JSON.parse(rule) as FilterRecord))
    const known = filters.known(ownFilterId(this.#record(), host, filters))
    await settledFilter.keep(known.digest === compared.digest ? known : compared)
  }

  reindex(): Promise<void> {
    return this.#options.reindex()
  }

  keepSurplus(surplus: SurplusEntries): Promise<void> {
    return keepSurplusLoss(this.#options.host, this.#options.kind, surplus, LOSS_REASONS.overtaken)
  }

  async stopAhead(surplus: SurplusEntries, primaryIndex: number): Promise<void> {
    const { host, kind } = this.#options
    await keepSurplusLoss(host, kind, surplus, LOSS_REASONS.rewound)
    const { epoch, forkIndex: commonIndex, lastIndex: index, isForkSure: isCommonKnown } = surplus
    const ahead = { epoch, index, commonIndex, isCommonKnown, primaryIndex, sinceMs: host.clock.now() }
    await this.#update((record) => ({ ...record, ahead }))
    host.log.error('ahead of the primary, which lost entries; replication is stopped', {
      kind,
      ...ahead,
    })
  }

  beforeFiltered(): Promise<void> {
    return this.#options.beforeFiltered()
  }

  /**
   * Marks the data as unsettled before the first filter takes effect. If the filter is deleted again, only this mark
   * shows that data was withheld meanwhile.
   */
  async beforeFilterChange(ids: readonly string[]): Promise<void> {
    const { kind, host, settledFilter } = this.#options
    const isOwn = (id: string) => id === this.#record().secondaryId || id === host.identity.clusterId
    if (kind === 'performance' && ids.some(isOwn)) await settledFilter.doubt()
  }

  /** Starts the role change but does not wait for it, because a promotion waits until the follower stops. */
  async onSynced(isFound: boolean): Promise<void> {
    const { host, kind } = this.#options
    if (isFound) await settleLosses(host, kind)
    if (kind === 'dr') await continueAlignment(host)
    this.#finishBootstrap().catch((error: unknown) => host.log.error('cannot finish the bootstrap', { kind, error }))
  }

  onPrimaryAddresses({ current, known, former }: PrimaryAddresses): void {
    const primaryAddresses = [...new Set([current, ...known])].filter((address) => address !== '')
    const formerAddresses = former.filter((address) => !primaryAddresses.includes(address))
    this.#change((record) => {
      const { credentials } = record
      if (!credentials) return record
      const { primaryAddresses: before, formerAddresses: formerBefore = [] } = credentials
      if (sameTexts(before, primaryAddresses) && sameTexts(formerBefore, formerAddresses)) return record
      return { ...record, credentials: { ...credentials, primaryAddresses, formerAddresses } }
    })
  }

  /** Completes the first copy. Retries, because the storage may reject writes, for example on a full disk. */
  async #finishBootstrap(): Promise<void> {
    const { host, kind, roles, signal, finishBootstrap } = this.#options
    if (this.#isFinishing) return
    this.#isFinishing = true
    // While another comparison runs, the data may be incomplete. The end of that comparison calls this method again.
    while (!signal.aborted && !host.store.isResyncing && roles.record(kind).mode === 'bootstrapping') {
      try {
        await finishBootstrap()
      } catch (error) {
        host.log.warn('cannot finish the bootstrap, trying again', { kind, error: String(error) })
        await host.clock.sleep(FINISH_AGAIN_MS, signal).catch(() => undefined)
      }
    }
    this.#isFinishing = false
  }

  #record(): SecondaryRecord {
    const record = this.#options.roles.record(this.#options.kind)
    if (record.mode === 'disabled' || record.mode === 'primary') throw new Error('this cluster is not a secondary')
    return record
  }

  #update(change: (record: SecondaryRecord) => SecondaryRecord): Promise<void> {
    const { roles, kind } = this.#options
    return roles.update(
      kind,
      (record: KindRecord): KindRecord =>
        record.mode === 'disabled' || record.mode === 'primary' ? record : change(record),
    )
  }

  #change(change: (record: SecondaryRecord) => SecondaryRecord): void {
    const { kind, host } = this.#options
    this.#update(change).catch((error: unknown) =>
      host.log.error('cannot store the record', { kind, error: String(error) }),
    )
  }
}

/** Returns the ID under which the filter of this cluster is stored. */
export const ownFilterId = (
  record: SecondaryRecord,
  host: Pick<ReplicationHost, 'identity'>,
  filters: Pick<FilterStore, 'find'>,
): string => {
  if (filters.find(record.secondaryId)) return record.secondaryId
  return filters.find(host.identity.clusterId) ? host.identity.clusterId : record.secondaryId
}

const sameTexts = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((text, i) => text === b[i])
