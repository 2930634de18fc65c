import { expect, test } from 'vitest'
import { renderStatus } from '../../../src/replication/paths/status.js'
import type { Registration } from '../../../src/replication/model/state.js'
import type { PrimaryFacts, SecondaryFacts } from '../../../src/replication/roles/status-facts.js'
import type { MaintenanceStatus } from '../../../src/replication/roles/tree-maintenance.js'
import type { SecondaryView } from '../../../src/replication/model/types.js'

const MAINTENANCE: MaintenanceStatus = {
  lastReindexMs: 0,
  isCorrupted: false,
  lastCheckMs: undefined,
  reindex: undefined,
}

const registration = (id: string, more: Partial<Registration> = {}): Registration => ({
  id,
  commonName: `cn-${id}`,
  state: 'issued',
  expiresAtMs: 0,
  clusterId: '',
  incarnation: 0,
  apiAddress: '',
  clusterAddress: '',
  lastSeenMs: 0,
  ...more,
})

const view = (secondaryId: string, more: Partial<SecondaryView> = {}): SecondaryView => ({
  secondaryId,
  isConnected: true,
  apiAddress: 'https://c:8200',
  clusterAddresses: ['c:8201'],
  clusterId: 'cluster-c',
  lastHeartbeatMs: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
  lastHeartbeatDurationMs: 1.6,
  clockSkewMs: -3.2,
  canaryAgeMs: 12,
  appliedIndex: 9,
  state: 'stream-wals',
  ...more,
})

const PRIMARY: PrimaryFacts = {
  mode: 'primary',
  kind: 'performance',
  setId: 'set',
  primaryClusterAddr: '',
  lastWal: 12,
  lastKindWal: 11,
  merkleRoot: Buffer.alloc(20, 0xab),
  registrations: [],
  views: [],
  maintenance: MAINTENANCE,
}

const SECONDARY: SecondaryFacts = {
  mode: 'secondary',
  setId: 'set',
  secondaryId: 'c',
  state: 'stream-wals',
  connectionState: 'ready',
  primaryClusterAddr: 'a:8201',
  knownAddresses: ['a:8201', 'https://b:8201', 'https://a:8201'],
  primary: { ...view('x'), clusterAddress: 'a:8201', lagMs: 0 },
  lastRemoteWal: 11,
  lastStartMs: Date.UTC(2026, 0, 1),
  merkleRoot: Buffer.alloc(20, 1),
  progress: undefined,
  maintenance: MAINTENANCE,
}

test('a disabled kind shows its mode and nothing else', () => {
  expect(renderStatus({ mode: 'disabled' })).toEqual({ mode: 'disabled' })
  expect(renderStatus({ mode: 'bootstrapping', setId: 's', progress: undefined })).toEqual({
    mode: 'bootstrapping',
    cluster_id: 's',
  })
})

test('the status of a primary has every field with its type', () => {
  expect(renderStatus(PRIMARY)).toEqual({
    mode: 'primary',
    cluster_id: 'set',
    state: 'running',
    known_secondaries: [],
    secondaries: [],
    last_wal: 12,
    last_performance_wal: 11,
    merkle_root: 'ab'.repeat(20),
    primary_cluster_addr: '',
    last_reindex_epoch: '0',
    corrupted_merkle_tree: false,
    last_corruption_check_epoch: '-62135596800',
    ssct_generation_counter: 0,
  })
  expect(renderStatus({ ...PRIMARY, kind: 'dr' })).toMatchObject({ last_dr_wal: 11 })
  expect(renderStatus({ ...PRIMARY, kind: 'dr' })).not.toHaveProperty('last_performance_wal')
})

test('the status lists secondaries by ID: connected, disconnected and never seen', () => {
  const away = registration('b', {
    state: 'connected',
    apiAddress: 'https://b:8200',
    clusterAddress: 'https://b:8201',
    lastSeenMs: 5000,
  })
  const status = renderStatus({
    ...PRIMARY,
    registrations: [registration('z'), registration('c', { state: 'connected' }), away],
    views: [view('c')],
  })
  expect(status.known_secondaries).toEqual(['b', 'c', 'z'])
  expect(status.secondaries).toEqual([
    {
      node_id: 'b',
      api_address: 'https://b:8200',
      cluster_address: 'https://b:8201',
      connection_status: 'disconnected',
      last_heartbeat: '1970-01-01T00:00:05Z',
      last_heartbeat_duration_ms: '0',
      clock_skew_ms: '0',
      replication_primary_canary_age_ms: '0',
    },
    {
      node_id: 'c',
      api_address: 'https://c:8200',
      cluster_address: 'https://c:8201',
      connection_status: 'connected',
      last_heartbeat: '2026-01-02T03:04:05Z',
      last_heartbeat_duration_ms: '2',
      clock_skew_ms: '-3',
      replication_primary_canary_age_ms: '12',
    },
    { node_id: 'z', connection_status: 'disconnected' },
  ])
})

test('the status of a secondary has every field, with unique addresses and their scheme', () => {
  expect(renderStatus(SECONDARY)).toEqual({
    mode: 'secondary',
    cluster_id: 'set',
    state: 'stream-wals',
    connection_state: 'ready',
    secondary_id: 'c',
    primary_cluster_addr: 'https://a:8201',
    known_primary_cluster_addrs: ['https://a:8201', 'https://b:8201'],
    primaries: [
      {
        api_address: 'https://c:8200',
        cluster_address: 'https://a:8201',
        connection_status: 'connected',
        last_heartbeat: '2026-01-02T03:04:05Z',
        last_heartbeat_duration_ms: '2',
        clock_skew_ms: '-3',
        replication_primary_canary_age_ms: '12',
      },
    ],
    last_remote_wal: 11,
    last_start: '2026-01-01T00:00:00Z',
    merkle_root: '01'.repeat(20),
    last_reindex_epoch: '0',
    corrupted_merkle_tree: false,
    last_corruption_check_epoch: '-62135596800',
    ssct_generation_counter: 0,
  })
})

test('the status shows the progress of a sync or reindex while it runs', () => {
  const maintenance = {
    ...MAINTENANCE,
    lastReindexMs: 7000,
    lastCheckMs: 8000,
    isCorrupted: true,
    reindex: { stage: 'building', done: 3, total: 9 },
  }
  expect(renderStatus({ ...SECONDARY, progress: { totalKeys: 10, doneKeys: 4 }, maintenance })).toMatchObject({
    merkle_sync_progress: { sync_total_keys: 10, sync_progress: 4 },
    reindex_in_progress: true,
    reindex_stage: 'building',
    reindex_building_progress: 3,
    reindex_building_total: 9,
    last_reindex_epoch: '7',
    last_corruption_check_epoch: '8',
    corrupted_merkle_tree: true,
  })
})

test('a sync that has fetched nothing yet shows its progress, and no other state has any', () => {
  const progress = { merkle_sync_progress: { sync_total_keys: 0, sync_progress: 0 } }
  expect(renderStatus({ ...SECONDARY, state: 'merkle-sync' })).toMatchObject(progress)
  expect(renderStatus({ ...SECONDARY, state: 'merkle-diff' })).not.toHaveProperty('merkle_sync_progress')
})

test('the status of a detached secondary has no primary and no null', () => {
  const status = renderStatus({
    ...SECONDARY,
    state: 'idle',
    connectionState: 'shutdown',
    primaryClusterAddr: '',
    knownAddresses: [],
    primary: undefined,
    lastRemoteWal: 0,
  })
  expect(status).toMatchObject({ primaries: [], known_primary_cluster_addrs: [], primary_cluster_addr: '' })
  expect(Object.values(status)).not.toContain(null)
})

test.each(['lb:8201', 'http://lb:8201', 'https://lb:8201/', 'tcp://lb:8201'])(
  'the status shows the address %s of a cluster port with its scheme',
  (primaryClusterAddr) => {
    expect(renderStatus({ ...PRIMARY, primaryClusterAddr }).primary_cluster_addr).toBe('https://lb:8201')
    const secondary = renderStatus({ ...SECONDARY, primaryClusterAddr, knownAddresses: [primaryClusterAddr] })
    expect(secondary).toMatchObject({
      primary_cluster_addr: 'https://lb:8201',
      known_primary_cluster_addrs: ['https://lb:8201'],
    })
  },
)
