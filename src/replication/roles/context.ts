import { alignedFrom, ownIndexOf } from './alignment.js'
import type { Ingredients } from './change-record.js'
import type { Fences } from './fences.js'
import type { FilterStore } from '../filter/filter-store.js'
import type { SettledFilter } from '../filter/settled-filter.js'
import type { PathServices, ReplicationHost } from '../host/host.js'
import { uuid } from '../../base/id.js'
import type { RunningRole } from './running-role.js'
import type { OperationTokens } from '../model/operation-token.js'
import type { RoleRecords } from './role-records.js'
import { type Ahead, ownEpochsOf } from '../model/state.js'
import type { DataPlane } from '../host/services.js'
import { type Fork, selectApplied } from '../model/epoch.js'
import type { Kind } from '../model/types.js'
import type { TreeMaintenance } from './tree-maintenance.js'

/** The objects of replication, for operations that use several of them. */
export interface ReplicationContext {
  readonly host: ReplicationHost
  readonly roles: RoleRecords
  readonly fences: Fences
  readonly dataPlane: DataPlane
  readonly filters: FilterStore
  readonly settledFilter: SettledFilter
  readonly maintenance: TreeMaintenance
  readonly operationTokens: OperationTokens
  readonly running: Readonly<Record<Kind, RunningRole>>
}

/** Dependencies of all API operations. */
export interface PathContext extends ReplicationContext {
  readonly services: PathServices
}

/** Returns the common inputs of record changes. The fork is at the current end of the log of the previous epoch. */
export const baseIngredients = ({ host, roles, running }: ReplicationContext, kind: Kind): Ingredients => {
  const record = roles.record(kind)
  const beginIndex = host.store.position.index
  const ended = { dr: ownEpochsOf(roles.records, 'dr'), performance: ownEpochsOf(roles.records, 'performance') }
  const made = { newId: () => uuid(host.random), epochId: uuid(host.random), ended }
  if (record.mode === 'disabled' || record.mode === 'primary' || !record.hasFollowed) {
    return { ...made, fork: { forkIndex: beginIndex, beginIndex, alignedFrom: 0 } }
  }
  const position = host.store.remotePosition
  const [parentId, applied] = [position?.epoch, position?.index ?? 0]
  if (record.ahead) return { ...made, fork: { parentId, ...forkAhead(host, kind, record.ahead) } }
  const aligned = kind === 'dr' ? alignedFrom(host) : applied
  const earlier = (running[kind].follower?.recentPositions() ?? []).filter(({ index }) => index < applied)
  const fork = { parentId, forkIndex: applied, beginIndex, alignedFrom: aligned }
  return { ...made, fork: { ...fork, ...(position && { applied: selectApplied([position, ...earlier]) }) } }
}

/**
 * Returns the fork of a cluster that is ahead of a rewound primary. The primary writes a different log after the last
 * position that it still has, so all later entries of this cluster belong to the new epoch, including those that it
 * received from the primary. If the position is unknown, the whole log counts as later. The lists of losses then have
 * too many entries, never too few, until a comparison settles them.
 */
const forkAhead = (host: ReplicationHost, kind: Kind, { commonIndex, isCommonKnown }: Ahead): Fork => {
  const forkIndex = isCommonKnown ? commonIndex : 0
  return { forkIndex, beginIndex: (kind === 'dr' ? ownIndexOf(host, forkIndex) : undefined) ?? 0 }
}
