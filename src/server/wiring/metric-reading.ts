import { LICENSE_END } from '../../core/system/status-paths.js'
import { LEASE_KEYS } from '../../core/leases/lease-record.js'
import { TOKEN_KEYS } from '../../core/tokens/token-record.js'
import type { MetricReading, MetricSample } from '../../core/status/metrics.js'
import type { Kind } from '../../replication/model/types.js'
import type { ReplicationView } from '../../replication/runtime/view.js'
import type { ReplicationParts } from './replication-parts.js'
import type { RuntimeParts, ShellView } from '../parts/parts.js'

const flag = (value: boolean): number => (value ? 1 : 0)

/**
 * Reads the metrics for `sys/metrics`. A metric that Vault has too has the name that Vault uses. The names of other
 * metrics, such as lag, begin with `understudy.`.
 */
export const readMetrics = async (
  runtime: Pick<RuntimeParts, 'store' | 'barrier'>,
  parts: ReplicationParts,
  { meter, labState, status, inFlight }: Pick<ShellView, 'meter' | 'labState' | 'status' | 'inFlight'>,
): Promise<MetricReading> => {
  const { store, barrier } = runtime
  const { view } = parts
  const memory = process.memoryUsage()
  const role = (kind: Kind, mode: string): MetricSample => ({
    name: `vault.core.replication.${kind}.${mode}`,
    value: flag(view.modes[kind] === mode),
  })
  const gauges: MetricSample[] = [
    { name: 'vault.core.active', value: flag(!status.isStandby) },
    { name: 'vault.core.unsealed', value: 1 },
    { name: 'vault.core.in_flight_requests', value: inFlight().size },
    { name: 'vault.core.license.expiration_time_epoch', value: Date.parse(LICENSE_END) / 1000 },
    { name: 'vault.core.performance_standby', value: flag(status.isPerformanceStandby) },
    role('performance', 'primary'),
    role('performance', 'secondary'),
    role('dr', 'primary'),
    role('dr', 'secondary'),
    { name: 'vault.core.replication.write_undo_logs', value: 0 },
    { name: 'vault.replication.wal.last_wal', value: store.position.index },
    { name: 'vault.replication.wal.last_dr_wal', value: store.lastShippedIndex },
    { name: 'vault.replication.wal.last_performance_wal', value: store.lastReplicatedIndex },
    { name: 'vault.replication.wal.gc', value: store.firstIndex - 1 },
    { name: 'vault.wal.gc.total', value: store.position.index - store.firstIndex + 1 },
    { name: 'vault.logshipper.buffer.length', value: store.recentLog.frames },
    { name: 'vault.logshipper.buffer.size', value: store.recentLog.bytes },
    { name: 'vault.logshipper.buffer.max_size', value: store.recentLog.bytesMax },
    { name: 'vault.replication.fsm.last_remote_wal', value: view.lastRemoteWal },
    { name: 'vault.replication.fsm.last_upstream_remote_wal', value: view.announcedIndex },
    { name: 'vault.replication.merkle.commit_index', value: store.position.index },
    { name: 'vault.barrier.encryptions', value: barrier.encryptions },
    {
      name: 'vault.expire.num_leases',
      value: (await count(runtime, TOKEN_KEYS.times)) + (await count(runtime, LEASE_KEYS.due)),
    },
    { name: 'vault.expire.num_irrevocable_leases', value: await count(runtime, LEASE_KEYS.irrevocable) },
    { name: 'vault.token.count', value: await count(runtime, TOKEN_KEYS.ids) },
    { name: 'vault.runtime.alloc_bytes', value: memory.heapUsed },
    { name: 'vault.runtime.sys_bytes', value: memory.rss },
    { name: 'understudy.nodes', value: parts.nodes },
    { name: 'understudy.faults.active', value: labState.activeFaults },
    { name: 'understudy.replication.ahead_entries', value: aheadEntries(view) },
  ]
  const upstream = upstreamLag(parts)
  if (upstream) gauges.push(...lagSamples(upstream, { link: 'upstream' }))
  for (const lag of secondaryLags(runtime, parts)) {
    const labels = { kind: lag.kind, secondary: lag.secondary }
    const name = 'vault.replication.rpc.server.last_heartbeat'
    gauges.push({ name, value: lag.lastHeartbeatMs / 1000, labels }, ...lagSamples(lag, labels))
  }
  return { gauges, summaries: meter.summaries(), counts: meter.counts() }
}

/**
 * Returns the number of log entries that this secondary has and its primary lost when it was restored to an earlier
 * state. Replication is stopped until an operator decides.
 */
const aheadEntries = ({ ahead }: ReplicationView): number => (ahead ? ahead.index - ahead.commonIndex : 0)

interface Lag {
  readonly entries: number
  readonly ms: number
}

const lagSamples = ({ entries, ms }: Lag, labels: Readonly<Record<string, string>>): MetricSample[] => [
  { name: 'understudy.replication.lag_entries', value: entries, labels },
  { name: 'understudy.replication.lag_seconds', value: ms / 1000, labels },
]

const count = async ({ barrier }: Pick<RuntimeParts, 'barrier'>, prefix: string): Promise<number> => {
  let found = 0
  for await (const keys of barrier.scanKeys({ prefix })) found += keys.length
  return found
}

export const secondaryLags = ({ store }: Pick<RuntimeParts, 'store'>, { replication, commitTimes }: ReplicationParts) =>
  (['dr', 'performance'] as const).flatMap((kind) =>
    [...(replication.context.running[kind].primary?.registry.views() ?? [])].map((secondary) => ({
      kind,
      secondary: secondary.secondaryId,
      entries: Math.max(0, store.position.index - secondary.appliedIndex),
      /** Age of the oldest entry that the secondary lacks, in ms. */
      ms: commitTimes.lackingMs(secondary.appliedIndex),
      /** Time of the secondary's last heartbeat, in ms since the epoch; 0 if there was none. */
      lastHeartbeatMs: secondary.lastHeartbeatMs ?? 0,
    })),
  )

/** Returns the lag behind the position that the primary announced; undefined if the primary announced none. */
export const upstreamLag = ({
  view: { lastRemoteWal, announcedIndex, primary },
}: Pick<ReplicationParts, 'view'>): Lag | undefined =>
  announcedIndex === 0 ? undefined : { entries: Math.max(0, announcedIndex - lastRemoteWal), ms: primary?.lagMs ?? 0 }
