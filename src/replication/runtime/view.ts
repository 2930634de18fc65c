import type { ReplicationContext } from '../roles/context.js'
import type { CompiledFilter } from '../model/compile-filter.js'
import type { Mode } from '../model/machine.js'
import type { RunningRole } from '../roles/running-role.js'
import { ownFilterId } from '../roles/secondary-role.js'
import { type Ahead, aheadOf, type Fence, isCopy } from '../model/state.js'
import type { Kind, PrimaryView } from '../model/types.js'

/**
 * The role facts of this cluster for core. Every request reads several of them. Each is computed on access, so that it
 * is always current.
 */
export class ReplicationView {
  readonly #context: ReplicationContext

  constructor(context: ReplicationContext) {
    this.#context = context
  }

  /** The modes that the status endpoints show. */
  get modes(): Readonly<Record<Kind, Mode>> {
    return { dr: this.#drMode, performance: this.#performanceMode }
  }

  /** The modes that `sys/health` shows. On a DR secondary, they include its hidden performance role. */
  get healthModes(): Readonly<Record<Kind, Mode>> {
    return { dr: this.#drMode, performance: this.#context.roles.record('performance').mode }
  }

  /** True if this cluster is a DR secondary, which serves only the DR endpoints. */
  get isDrSecondary(): boolean {
    return isSecondary(this.#drMode)
  }

  /** True if this cluster is a performance secondary: replicated data is read-only, and writes of it are forwarded. */
  get isPerformanceSecondary(): boolean {
    return isSecondary(this.#performanceMode)
  }

  /** True while the first copy is incomplete, so that no client requests can be served. */
  get isBootstrapping(): boolean {
    return this.#drMode === 'bootstrapping' || this.#performanceMode === 'bootstrapping'
  }

  /** True if standbys serve reads from their copies. On a DR secondary, only the active node responds. */
  get isReadable(): boolean {
    return !this.isDrSecondary && !this.isBootstrapping
  }

  /** True if this secondary has no working primary: none is known, none responds, or all refuse this cluster. */
  get isStranded(): boolean {
    return (this.#followed.follower?.connectionState ?? 'transient_failure') === 'transient_failure'
  }

  /** The last applied index of the log of the followed primary. */
  get lastRemoteWal(): number {
    return this.#followed.appliedIndex
  }

  /** The last index that the primary announced since the start. */
  get announcedIndex(): number {
    return this.#followed.follower?.announced?.index ?? 0
  }

  /** The primary that this cluster follows; undefined if none has responded. */
  get primary(): PrimaryView | undefined {
    return this.#followed.follower?.primary
  }

  /** The cluster ID of the current primary; empty if none has responded. */
  get primaryClusterId(): string {
    return this.primary?.clusterId ?? ''
  }

  get fence(): Fence | undefined {
    const { fences } = this.#context
    return fences.of('dr') ?? (this.#performanceMode === 'primary' ? fences.of('performance') : undefined)
  }

  /** The entries that this cluster has and its rewound primary has lost. While set, this cluster follows no primary. */
  get ahead(): Ahead | undefined {
    const { dr, performance } = this.#context.roles.records
    return aheadOf(dr) ?? aheadOf(performance)
  }

  /** True if client writes are rejected because a newer primary has replaced this primary. */
  get refusesWrites(): boolean {
    return this.#context.host.settings.fenceClientWrites && this.fence !== undefined
  }

  /** False if this cluster follows no primary, so that no data arrives until an operator sets one. */
  get hasPrimary(): boolean {
    return this.#followed.follower !== undefined
  }

  /** The filter that withholds data from this performance secondary; undefined without a filter. */
  get ownFilter(): CompiledFilter | undefined {
    const id = findOwnFilterId(this.#context)
    return id === undefined ? undefined : this.#context.filters.compiled(id)
  }

  /** IDs of mounts that the previous filter withheld and the current one does not. Their data is still incomplete. */
  get arrivingMounts(): ReadonlySet<string> {
    const { filters, settledFilter } = this.#context
    const id = findOwnFilterId(this.#context)
    const { record } = settledFilter.current
    if (id === undefined || !record || settledFilter.is(filters.known(id).digest)) return NONE
    const filtered = filters.compiled(id)?.filteredMounts ?? NONE
    return new Set([...filters.compile(record).filteredMounts].filter((uuid) => !filtered.has(uuid)))
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
}

const isSecondary = (mode: Mode): boolean => mode === 'secondary' || mode === 'bootstrapping'

const NONE: ReadonlySet<string> = new Set()

/** Returns the ID of the filter of this cluster, or undefined if it does not serve as a performance secondary. */
const findOwnFilterId = ({ host, roles, running, filters }: ReplicationContext): string | undefined => {
  const record = roles.record('performance')
  return running.performance.mode === 'secondary' && isCopy(record) ? ownFilterId(record, host, filters) : undefined
}

/**
 * Returns the filter of this performance secondary, or of the performance secondary that this DR copy follows;
 * undefined without a filter.
 */
export const findOwnFilter = ({ host, roles, filters, running }: ReplicationContext): CompiledFilter | undefined => {
  const record = roles.record('performance')
  if (!isCopy(record)) return undefined
  const original = running.dr.follower?.primary?.clusterId ?? ''
  const id = ownFilterId(record, host, filters)
  return filters.compiled(id) ?? (original === '' ? undefined : filters.compiled(original))
}
