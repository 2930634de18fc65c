import type { ReplicationContext } from '../roles/context.js'
import type { CompiledFilter } from '../model/compile-filter.js'
import type { Mode } from '../model/machine.js'
import type { RunningRole } from '../roles/running-role.js'
import { ownFilterId } from '../roles/secondary-role.js'
import { type Ahead, type Fence, isCopy, type KindRecord } from '../model/state.js'
import type { Kind, PrimaryView } from '../model/types.js'

/**
 * The facts about the roles of this cluster that core needs. Asked several times by every request, so nothing is found
 * before it is asked for, and every fact is the one of that moment.
 */
export class ReplicationView {
  readonly #context: ReplicationContext

  constructor(context: ReplicationContext) {
    this.#context = context
  }

  /** As the status endpoints show them. */
  get modes(): Readonly<Record<Kind, Mode>> {
    return { dr: this.#drMode, performance: this.#performanceMode }
  }

  /** As sys/health shows them: on a DR secondary the performance role that waits behind it. */
  get healthModes(): Readonly<Record<Kind, Mode>> {
    return { dr: this.#drMode, performance: this.#context.roles.record('performance').mode }
  }

  /** Only the DR list is served. */
  get isDrSecondary(): boolean {
    return isSecondary(this.#drMode)
  }

  /** Shared data can be read only; writes of it are forwarded. */
  get isPerformanceSecondary(): boolean {
    return isSecondary(this.#performanceMode)
  }

  /** The first copy is on its way: nothing can be served yet. */
  get isBootstrapping(): boolean {
    return this.#drMode === 'bootstrapping' || this.#performanceMode === 'bootstrapping'
  }

  /** Standbys answer from their copies: a DR secondary is asked by its active node alone. */
  get isReadable(): boolean {
    return !this.isDrSecondary && !this.isBootstrapping
  }

  /** No primary feeds this secondary: none is known, none answers, or each that answers refuses it. */
  get isStranded(): boolean {
    return (this.#followed.follower?.connectionState ?? 'transient_failure') === 'transient_failure'
  }

  /** A role has changed, and this runtime is about to end. */
  get isRestarting(): boolean {
    return this.#context.roles.isLeaving
  }

  /** Last index of the primary's log that is applied here, of whichever kind this cluster follows. */
  get lastRemoteWal(): number {
    return this.#followed.appliedIndex
  }

  /** Last index that the primary announced since the start. */
  get announcedIndex(): number {
    return this.#followed.follower?.announced?.index ?? 0
  }

  /** The own id of the primary that is followed; empty when none has answered. */
  get primaryClusterId(): string {
    return this.#primary?.clusterId ?? ''
  }

  get echoDurationMs(): number {
    return Math.round(this.#primary?.lastHeartbeatDurationMs ?? 0)
  }

  get clockSkewMs(): number {
    return Math.round(this.#primary?.clockSkewMs ?? 0)
  }

  get canaryAgeMs(): number {
    return Math.round(this.#primary?.canaryAgeMs ?? 0)
  }

  /** How long the oldest index that was announced and not applied has been waited for; 0 with nothing outstanding. */
  get lagMs(): number {
    return this.#primary?.lagMs ?? 0
  }

  get fence(): Fence | undefined {
    const { fences } = this.#context
    return fences.of('dr') ?? (this.#performanceMode === 'primary' ? fences.of('performance') : undefined)
  }

  /** The part of the log that this cluster has and its primary has lost; while it is set nobody is followed. */
  get ahead(): Ahead | undefined {
    const { dr, performance } = this.#context.roles.records
    return aheadOf(dr) ?? aheadOf(performance)
  }

  /** True when client writes are to be refused because this primary was overtaken. */
  get refusesWrites(): boolean {
    return this.#context.host.settings.fenceClientWrites && this.fence !== undefined
  }

  /** False while nobody is followed: nothing arrives until an operator names a primary. */
  get hasPrimary(): boolean {
    return this.#followed.follower !== undefined
  }

  /** The filter that keeps data from this performance secondary; undefined when it has everything. */
  get ownFilter(): CompiledFilter | undefined {
    return ownFilterOf(this.#context)
  }

  /** Mounts that a filter kept from this performance secondary until a moment ago: not all of their data is here yet. */
  get arrivingMounts(): ReadonlySet<string> {
    return arrivingMountsOf(this.#context)
  }

  get #drMode(): Mode {
    return this.#context.running.dr.mode
  }

  get #performanceMode(): Mode {
    return this.#context.running.performance.mode
  }

  get #followed(): RunningRole {
    const { running } = this.#context
    return this.isDrSecondary ? running.dr : running.performance
  }

  get #primary(): PrimaryView | undefined {
    return this.#followed.follower?.primary
  }
}

const isSecondary = (mode: Mode): boolean => mode === 'secondary' || mode === 'bootstrapping'

const aheadOf = (record: KindRecord): Ahead | undefined => ('ahead' in record ? record.ahead : undefined)

const NONE: ReadonlySet<string> = new Set()

/** The id of the filter of a cluster that is a performance secondary now, and serves as one. */
const findOwnFilterId = ({ host, roles, running, filters }: ReplicationContext): string | undefined => {
  const record = roles.record('performance')
  return running.performance.mode === 'secondary' && isCopy(record) ? ownFilterId(record, host, filters) : undefined
}

const ownFilterOf = (context: ReplicationContext): CompiledFilter | undefined => {
  const id = findOwnFilterId(context)
  return id === undefined ? undefined : context.filters.compiled(id)
}

const arrivingMountsOf = (context: ReplicationContext): ReadonlySet<string> => {
  const { filters, settledFilter } = context
  const id = findOwnFilterId(context)
  const { record } = settledFilter.current
  if (id === undefined || !record || settledFilter.is(filters.known(id).digest)) return NONE
  const filtered = filters.compiled(id)?.filteredMounts ?? NONE
  return new Set([...filters.compile(record).filteredMounts].filter((uuid) => !filtered.has(uuid)))
}
