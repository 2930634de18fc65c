import type { ReplicationHost } from '../host/host.js'
import type { FollowerService, PrimaryService } from '../host/services.js'
import type { ConnectionState, Kind, PrimaryView, SecondaryView, StreamState, SyncProgress } from '../model/types.js'
import type { KindRecord, Registration, SecondaryRecord } from '../model/state.js'
import { lastIndexOf, merkleRootOf, type TreeMaintenance, type MaintenanceStatus } from './tree-maintenance.js'

export interface PrimaryFacts {
  readonly mode: 'primary'
  readonly setId: string
  readonly kind: Kind
  readonly primaryClusterAddr: string
  readonly lastWal: number
  /** The last index that secondaries of this kind must reach. */
  readonly lastKindWal: number
  readonly merkleRoot: Buffer
  readonly registrations: readonly Registration[]
  readonly views: readonly SecondaryView[]
  readonly maintenance: MaintenanceStatus
}

export interface SecondaryFacts {
  readonly mode: 'secondary'
  readonly setId: string
  readonly secondaryId: string
  readonly state: StreamState
  readonly connectionState: ConnectionState
  /** The address in use, or used last; empty if detached. */
  readonly primaryClusterAddr: string
  /** All known addresses of the primary, best first. */
  readonly knownAddresses: readonly string[]
  readonly primary: PrimaryView | undefined
  readonly lastRemoteWal: number
  readonly lastStartMs: number
  readonly merkleRoot: Buffer
  readonly progress: SyncProgress | undefined
  readonly maintenance: MaintenanceStatus
}

export type StatusFacts =
  | { readonly mode: 'disabled' }
  | { readonly mode: 'bootstrapping'; readonly setId: string; readonly progress: SyncProgress | undefined }
  | PrimaryFacts
  | SecondaryFacts

/** The services of a kind that its status shows. */
interface Running {
  readonly kind: Kind
  readonly host: Pick<ReplicationHost, 'store'>
  readonly maintenance: TreeMaintenance
  /** The secondaries of a primary. */
  readonly views: ReturnType<PrimaryService['registry']['views']>
  readonly follower: FollowerService | undefined
  readonly appliedIndex: number
  readonly startMs: number
}

export const statusOf = (record: KindRecord, running: Running): StatusFacts => {
  const { kind, host, maintenance, views, follower } = running
  switch (record.mode) {
    case 'disabled':
      return { mode: 'disabled' }
    case 'bootstrapping':
      return { mode: 'bootstrapping', setId: record.setId, progress: follower?.syncProgress }
    case 'primary':
      return {
        mode: 'primary',
        kind,
        setId: record.setId,
        primaryClusterAddr: record.primaryClusterAddr,
        lastWal: host.store.position.index,
        lastKindWal: lastIndexOf(host.store, kind),
        merkleRoot: merkleRootOf(host.store, kind),
        registrations: record.registrations,
        views,
        maintenance: maintenance.status(),
      }
    case 'secondary':
      return secondaryStatus(record, running)
  }
}

const secondaryStatus = (record: SecondaryRecord, running: Running): StatusFacts => {
  const { host, kind, maintenance, follower, appliedIndex, startMs } = running
  const addresses = record.credentials?.primaryAddresses ?? []
  return {
    mode: 'secondary',
    setId: record.setId,
    secondaryId: record.secondaryId,
    state: follower?.state ?? 'idle',
    connectionState: follower?.connectionState ?? 'shutdown',
    primaryClusterAddr: follower?.primaryAddress ?? '',
    knownAddresses: follower?.knownPrimaryAddresses ?? addresses,
    primary: follower?.primary,
    lastRemoteWal: appliedIndex,
    lastStartMs: startMs,
    merkleRoot: merkleRootOf(host.store, kind),
    progress: follower?.syncProgress,
    maintenance: maintenance.status(),
  }
}
