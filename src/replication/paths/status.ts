import type { JsonObject } from '../../logical/json.js'
import type { Mode } from '../model/machine.js'
import type { PrimaryFacts, SecondaryFacts, StatusFacts } from '../roles/status-facts.js'
import type { MaintenanceStatus } from '../roles/tree-maintenance.js'
import { withScheme } from '../rpc/addresses.js'
import type { Registration } from '../model/state.js'
import type { PrimaryView, SecondaryView, SyncProgress } from '../model/types.js'

/**
 * Renders the responses of the status endpoints. No field is null, and no field changes its JSON type, because typed
 * clients depend on fixed types.
 */

/** Unix time of the year 1, which Vault reports for a time that is not set. */
const NEVER = '-62135596800'

export const renderStatus = (facts: StatusFacts): JsonObject => {
  switch (facts.mode) {
    case 'disabled':
      return { mode: 'disabled' }
    case 'bootstrapping':
      return { mode: 'bootstrapping', cluster_id: facts.setId, ...renderProgress(facts.progress) }
    case 'primary':
      return renderPrimary(facts)
    case 'secondary':
      return renderSecondary(facts)
  }
}

const renderPrimary = (facts: PrimaryFacts): JsonObject => ({
  mode: 'primary' satisfies Mode,
  cluster_id: facts.setId,
  state: 'running',
  known_secondaries: sortedById(facts.registrations).map((row) => row.id),
  secondaries: sortedById(facts.registrations).map((row) =>
    renderLink(
      row,
      facts.views.find((view) => view.secondaryId === row.id),
    ),
  ),
  last_wal: facts.lastWal,
  [facts.kind === 'dr' ? 'last_dr_wal' : 'last_performance_wal']: facts.lastKindWal,
  merkle_root: facts.merkleRoot.toString('hex'),
  primary_cluster_addr: withScheme(facts.primaryClusterAddr),
  ...renderMaintenance(facts.maintenance),
  ssct_generation_counter: 0,
})

const renderSecondary = (facts: SecondaryFacts): JsonObject => ({
  mode: 'secondary' satisfies Mode,
  cluster_id: facts.setId,
  state: facts.state,
  connection_state: facts.connectionState,
  secondary_id: facts.secondaryId,
  primary_cluster_addr: withScheme(facts.primaryClusterAddr),
  known_primary_cluster_addrs: [...new Set(facts.knownAddresses.map(withScheme))],
  primaries: facts.primary ? [renderPrimaryLink(facts.primary)] : [],
  last_remote_wal: facts.lastRemoteWal,
  last_start: toRfc3339(facts.lastStartMs),
  merkle_root: facts.merkleRoot.toString('hex'),
  ...renderProgress(facts.progress ?? (facts.state === 'merkle-sync' ? NOTHING_FETCHED : undefined)),
  ...renderMaintenance(facts.maintenance),
  ssct_generation_counter: 0,
})

const sortedById = (registrations: readonly Registration[]): Registration[] =>
  [...registrations].sort((a, b) => (a.id < b.id ? -1 : 1))

/**
 * Renders the link to a secondary. A secondary that never connected has only an ID. A disconnected secondary shows its
 * last known values.
 */
const renderLink = (row: Registration, view: SecondaryView | undefined): JsonObject => {
  const isConnected = view?.isConnected ?? false
  const clusterAddress = view?.clusterAddresses[0] ?? row.clusterAddress
  const lastHeartbeatMs = view?.lastHeartbeatMs ?? (row.lastSeenMs || undefined)
  if (!isConnected && clusterAddress === '' && lastHeartbeatMs === undefined) {
    return { node_id: row.id, connection_status: 'disconnected' }
  }
  return {
    node_id: row.id,
    api_address: view?.apiAddress || row.apiAddress,
    cluster_address: withScheme(clusterAddress),
    connection_status: isConnected ? 'connected' : 'disconnected',
    ...renderHeartbeat(lastHeartbeatMs, view),
  }
}

const renderPrimaryLink = (view: PrimaryView): JsonObject => ({
  api_address: view.apiAddress,
  cluster_address: withScheme(view.clusterAddress),
  connection_status: view.isConnected ? 'connected' : 'disconnected',
  ...renderHeartbeat(view.lastHeartbeatMs, view),
})

type Measures = Pick<PrimaryView, 'lastHeartbeatDurationMs' | 'clockSkewMs' | 'canaryAgeMs'>

const renderHeartbeat = (lastHeartbeatMs: number | undefined, measures: Measures | undefined): JsonObject =>
  lastHeartbeatMs === undefined
    ? {}
    : {
        last_heartbeat: toRfc3339(lastHeartbeatMs),
        last_heartbeat_duration_ms: String(Math.round(measures?.lastHeartbeatDurationMs ?? 0)),
        clock_skew_ms: String(Math.round(measures?.clockSkewMs ?? 0)),
        replication_primary_canary_age_ms: String(Math.round(measures?.canaryAgeMs ?? 0)),
      }

const NOTHING_FETCHED: SyncProgress = { totalKeys: 0, doneKeys: 0 }

const renderProgress = (progress: SyncProgress | undefined): JsonObject =>
  progress ? { merkle_sync_progress: { sync_total_keys: progress.totalKeys, sync_progress: progress.doneKeys } } : {}

const renderMaintenance = (maintenance: MaintenanceStatus): JsonObject => ({
  last_reindex_epoch: String(Math.floor(maintenance.lastReindexMs / 1000)),
  corrupted_merkle_tree: maintenance.isCorrupted,
  last_corruption_check_epoch:
    maintenance.lastCheckMs === undefined ? NEVER : String(Math.floor(maintenance.lastCheckMs / 1000)),
  ...(maintenance.reindex && {
    reindex_in_progress: true,
    reindex_stage: maintenance.reindex.stage,
    reindex_building_progress: maintenance.reindex.done,
    reindex_building_total: maintenance.reindex.total,
  }),
})

const toRfc3339 = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
