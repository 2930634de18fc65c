import type { ReplicationContext } from './context.js'
import type { CompiledFilter } from './filter/compile-filter.js'
import type { Mode } from './roles/machine.js'
import { ownFilterId } from './roles/secondary-role.js'
import { type Ahead, type Fence, isCopy, type KindRecord } from './roles/state.js'
import type { Kind } from './types.js'

/**
 * The facts about the roles of this cluster that core needs. Made for every request: facts that are expensive to find
 * are looked up when they are needed, by getters that all views share.
 */
export class ReplicationView {
  /** As the status endpoints show them. */
  readonly modes: Readonly<Record<Kind, Mode>>
  /** As sys/health shows them: on a DR secondary the performance role that waits behind it. */
  readonly healthModes: Readonly<Record<Kind, Mode>>
  /** Only the DR list is served. */
  readonly isDrSecondary: boolean
  /** Shared data can be read only; writes of it are forwarded. */
  readonly isPerformanceSecondary: boolean
  /** The first copy is on its way: nothing can be served yet. */
  readonly isBootstrapping: boolean
  /** The primary that is followed says that this cluster is none of its secondaries any more. */
  readonly isRevoked: boolean
  /** A role has changed, and this runtime is about to end. */
  readonly isRestarting: boolean
  /** Last index of the primary's log that is applied here, of whichever kind this cluster follows. */
  readonly lastRemoteWal: number
  /** Last index that the primary announced since the start. */
  readonly announcedIndex: number
  /** The own id of the primary that is followed; empty when none has answered. */
  readonly primaryClusterId: string
  readonly echoDurationMs: number
  readonly clockSkewMs: number
  readonly canaryAgeMs: number
  /** How long the oldest index that was announced and not applied has been waited for; 0 with nothing outstanding. */
  readonly lagMs: number
  readonly fence: Fence | undefined
  /** The part of the log that this cluster has and its primary has lost; while it is set nobody is followed. */
  readonly ahead: Ahead | undefined
  /** True when client writes are to be refused because this primary was overtaken. */
  readonly refusesWrites: boolean
  /** False while nobody is followed: nothing arrives until an operator names a primary. */
  readonly hasPrimary: boolean
  readonly #context: ReplicationContext

  constructor(context: ReplicationContext) {
    const { host, roles, fences, running } = context
    const { dr, performance } = roles.records
    const modes = { dr: running.dr.mode, performance: running.performance.mode }
    this.#context = context
    this.modes = modes
    this.healthModes = { dr: modes.dr, performance: performance.mode }
    this.isDrSecondary = modes.dr === 'secondary' || modes.dr === 'bootstrapping'
    this.isPerformanceSecondary = modes.performance === 'secondary' || modes.performance === 'bootstrapping'
    this.isBootstrapping = modes.dr === 'bootstrapping' || modes.performance === 'bootstrapping'
    const followed = this.isDrSecondary ? running.dr : running.performance
    const { follower } = followed
    const primary = follower?.primary
    this.isRevoked = follower?.refusal === 'revoked'
    this.isRestarting = roles.isLeaving
    this.lastRemoteWal = followed.appliedIndex
    this.announcedIndex = follower?.announced?.index ?? 0
    this.primaryClusterId = primary?.clusterId ?? ''
    this.echoDurationMs = Math.round(primary?.lastHeartbeatDurationMs ?? 0)
    this.clockSkewMs = Math.round(primary?.clockSkewMs ?? 0)
    this.canaryAgeMs = Math.round(primary?.canaryAgeMs ?? 0)
    this.lagMs = primary?.lagMs ?? 0
    this.fence = fences.of('dr') ?? (modes.performance === 'primary' ? fences.of('performance') : undefined)
    this.ahead = aheadOf(dr) ?? aheadOf(performance)
    this.refusesWrites = this.fence !== undefined && host.settings.fenceClientWrites
    this.hasPrimary = follower !== undefined
  }

  /** The filter that keeps data from this performance secondary; undefined when it has everything. */
  get ownFilter(): CompiledFilter | undefined {
    return ownFilterOf(this.#context)
  }

  /** Mounts that a filter kept from this performance secondary until a moment ago: not all of their data is here yet. */
  get arrivingMounts(): ReadonlySet<string> {
    return arrivingMountsOf(this.#context)
  }
}

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
