import { lastIndexOf } from '../host/announced.js'
import type { ReplicationHost } from '../host/host.js'
import type { FollowerService, PrimaryService } from '../host/services.js'
import type { Kind, SyncProgress } from '../model/types.js'
import type { KindRecord, PrimaryRecord, SecondaryRecord } from '../model/state.js'
import { merkleRootOf, type TreeMaintenance } from './tree-maintenance.js'

export type PrimaryFacts = ReturnType<typeof primaryStatus>
export type SecondaryFacts = ReturnType<typeof secondaryStatus>

export type StatusFacts =
  | { readonly mode: 'disabled' }
  | { readonly mode: 'bootstrapping'; readonly setId: string; readonly progress: SyncProgress | undefined }
  | PrimaryFacts
  | SecondaryFacts

/** The services from which the status of one kind is read. */
interface Running {
  readonly kind: Kind
  readonly host: Pick<ReplicationHost, 'store'>
  readonly maintenance: TreeMaintenance
  /** The secondaries of this primary. */
  readonly views: ReturnType<PrimaryService['registry']['views']>
  readonly follower: FollowerService | undefined
  readonly appliedIndex: number
  readonly startMs: number
}

export const statusOf = (record: KindRecord, running: Running): StatusFacts => {
  switch (record.mode) {
    case 'disabled':
      return { mode: 'disabled' }
    case 'bootstrapping':
      return { mode: 'bootstrapping', setId: record.setId, progress: running.follower?.syncProgress }
    case 'primary':
      return primaryStatus(record, running)
    case 'secondary':
      return secondaryStatus(record, running)
  }
}

const primaryStatus = (record: PrimaryRecord, { kind, host, maintenance, views }: Running) => ({
  mode: 'primary' as const,
  kind,
  setId: record.setId,
  primaryClusterAddr: record.primaryClusterAddr,
  lastWal: host.store.position.index,
  /** The last index that secondaries of this kind must reach. */
  lastKindWal: lastIndexOf(host.store, kind),
  merkleRoot: merkleRootOf(host.store, kind),
  registrations: record.registrations,
  views,
  maintenance: maintenance.status(),
})

const secondaryStatus = (record: SecondaryRecord, running: Running) => {
  const { host, kind, maintenance, follower, appliedIndex, startMs } = running
  const addresses = record.credentials?.primaryAddresses ?? []
  return {
    mode: 'secondary' as const,
    setId: record.setId,
    secondaryId: record.secondaryId,
    state: follower?.state ?? 'idle',
    connectionState: follower?.connectionState ?? 'shutdown',
    /** The address in use or used last; empty if detached. */
    primaryClusterAddr: follower?.primaryAddress ?? addresses[0] ?? '',
    /** All known addresses of the primary, best first. */
    knownAddresses: follower?.knownPrimaryAddresses ?? addresses,
    primary: follower?.primary,
    lastRemoteWal: appliedIndex,
    lastStartMs: startMs,
    merkleRoot: merkleRootOf(host.store, kind),
    progress: follower?.syncProgress,
    maintenance: maintenance.status(),
  }
}
