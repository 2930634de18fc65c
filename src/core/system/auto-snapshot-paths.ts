/** sys/storage/raft/snapshot-auto: the configurations and the status of automated snapshots. */
import type { Clock } from '../../base/clock.js'
import { ZERO_TIME } from '../../base/rfc3339.js'
import { type Call, definePath, listed, type PathSpec, sentBy, shown } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { duration, int, string } from '../../logical/fields.js'
import type { AutoSnapshots, SnapshotConfig } from './auto-snapshots.js'
import { type RaftAccess, requireRaft } from './autopilot-paths.js'

const NAME = { name: string('Name of the configuration.') }
const FIELDS = {
  ...NAME,
  interval: duration('Time between two snapshots.', 0, { isRequired: true }),
  retain: int('Number of snapshots that are kept.', 1),
  path_prefix: string('Directory of the snapshots.', '', { isRequired: true }),
  file_prefix: string('Beginning of the file names.', 'vault-snapshot'),
  storage_type: string('Type of the storage: local.', '', { isRequired: true }),
  local_max_space: int('Maximum size of all snapshots together, in bytes.', 0, { isRequired: true }),
}

interface AutoSnapshotPathsDeps extends Pick<RaftAccess, 'label'> {
  readonly snapshots: AutoSnapshots
  readonly clock: Clock
}

export const autoSnapshotPaths = (deps: AutoSnapshotPathsDeps): PathSpec[] => {
  const { snapshots, clock } = deps
  return [
    definePath('storage/raft/snapshot-auto/config/?', {}, 'List the configurations of automated snapshots.', {
      list: () => {
        requireRaft(deps)
        return listed(snapshots.names())
      },
    }),
    definePath('storage/raft/snapshot-auto/config/:name', FIELDS, 'Read, write or delete a configuration.', {
      read: ({ values: { name } }) => {
        requireRaft(deps)
        return shown(snapshots.find(name), describe)
      },
      update: async (call: Call<typeof FIELDS>) => {
        requireRaft(deps)
        const { name } = call.values
        await snapshots.put(name, decide(call, snapshots.find(name), clock.now()))
        return undefined
      },
      delete: async ({ values: { name } }) => {
        requireRaft(deps)
        await snapshots.put(name, undefined)
        return undefined
      },
    }),
    definePath('storage/raft/snapshot-auto/status/:name', NAME, 'Read the status of automated snapshots.', {
      read: ({ values: { name } }) => {
        requireRaft(deps)
        return shown(snapshots.find(name), () => statusBody(snapshots, name))
      },
    }),
  ]
}

/** Returns the configuration after a write. Fields that the request does not contain keep their values. */
const decide = (call: Call<typeof FIELDS>, before: SnapshotConfig | undefined, nowMs: number): SnapshotConfig => {
  const sent = sentBy(call)
  const { values } = call
  const type = sent('storage_type') ?? (before ? 'local' : '')
  if (type === '') throw invalid('storage_type is required')
  if (type !== 'local') throw invalid(`the storage type ${JSON.stringify(type)} is not supported: use local`)
  const after: SnapshotConfig = {
    intervalSeconds: sent('interval') ?? before?.intervalSeconds ?? 0,
    retain: sent('retain') ?? before?.retain ?? values.retain,
    directory: sent('path_prefix') ?? before?.directory ?? '',
    filePrefix: sent('file_prefix') ?? before?.filePrefix ?? values.file_prefix,
    bytesMax: sent('local_max_space') ?? before?.bytesMax ?? 0,
    writtenAtMs: nowMs,
  }
  if (after.intervalSeconds < 1) throw invalid('interval must be at least 1s')
  if (after.retain < 1) throw invalid('retain must be at least 1')
  if (after.directory === '') throw invalid('path_prefix is required')
  if (after.filePrefix === '' || /[/\\]/.test(after.filePrefix)) throw invalid('file_prefix must be a file name')
  if (after.bytesMax < 1) throw invalid('local_max_space must be at least 1')
  return after
}

const describe = (config: SnapshotConfig) => ({
  interval: config.intervalSeconds,
  retain: config.retain,
  path_prefix: config.directory,
  file_prefix: config.filePrefix,
  storage_type: 'local',
  local_max_space: config.bytesMax,
})

const statusBody = (snapshots: AutoSnapshots, name: string) => {
  const status = snapshots.statusOf(name)
  const time = (ms: number | undefined) => (ms === undefined ? ZERO_TIME : new Date(ms).toISOString())
  return {
    last_snapshot_start: time(status?.startMs),
    last_snapshot_end: time(status?.endMs),
    last_snapshot_error: status?.error ?? '',
    last_snapshot_url: status?.url ?? '',
    snapshot_start: time(status?.startMs),
    snapshot_url: status?.url ?? '',
  }
}
