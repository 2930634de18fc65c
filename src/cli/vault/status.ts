import type { Session } from './command.js'
import { defineCommand } from './command.js'
import { CliError, VAULT_EXIT } from './model/cli-error.js'
import type { JsonMap } from './model/json-map.js'
import { formatPairs, type Row } from './render/columns.js'
import { goText } from './render/go-text.js'
import { textOf } from './model/secret.js'

/** This command's exit code distinguishes a sealed server from a failure, so a failed request is 1. */
const FAILED = 1
const SEALED = 2

export const statusCommand = defineCommand({
  name: 'status',
  summary: 'Print how the server is: sealed or not, its version, cluster and active node',
  run: async (session) => {
    const status = await readSealStatus(session).catch((error: unknown) => {
      throw error instanceof CliError ? new CliError(FAILED, error.message, { cause: error }) : error
    })
    await printSealStatus(session, status)
    return status.sealed === true ? SEALED : VAULT_EXIT.ok
  },
})

export const readSealStatus = async ({ api }: Session): Promise<JsonMap> =>
  (await api.request('Error checking seal status', 'GET', 'sys/seal-status', { isInRoot: true })).body

/** Prints a seal status together with the active node, which a sealed server does not know. */
export const printSealStatus = async ({ api, out }: Session, status: JsonMap): Promise<number> => {
  const reply = await api.request('Error checking leader status', 'GET', 'sys/leader', {
    isInRoot: true,
    isRetried: false,
    expected: [400, 503],
  })
  const leader = reply.status === 200 ? reply.body : { ha_enabled: true, active_time: '0001-01-01T00:00:00Z' }
  return out.record({ ...status, ...leader }, () => formatPairs([...sealRows(status), ...leaderRows(status, leader)]))
}

const sealRows = (status: JsonMap): Row[] => {
  const prefix = status.recovery_seal === true ? 'Recovery ' : ''
  const isSealed = status.sealed === true
  return [
    ['Seal Type', goText(status.type)],
    ...(prefix ? [['Recovery Seal Type', textOf(status.recovery_seal_type) || 'shamir']] : []),
    ['Initialized', goText(status.initialized)],
    ['Sealed', goText(status.sealed)],
    [`Total ${prefix}Shares`, goText(status.n)],
    ['Threshold', goText(status.t)],
    ...(isSealed
      ? [
          ['Unseal Progress', `${goText(status.progress)}/${goText(status.t)}`],
          ['Unseal Nonce', textOf(status.nonce)],
        ]
      : []),
    ...(status.migration === true ? [['Seal Migration in Progress', 'true']] : []),
    ['Version', textOf(status.version)],
    ['Build Date', textOf(status.build_date)],
    ['Storage Type', textOf(status.storage_type)],
    ...(status.cluster_name ? [['Cluster Name', textOf(status.cluster_name)]] : []),
    ...(status.cluster_id ? [['Cluster ID', textOf(status.cluster_id)]] : []),
    ...(status.removed_from_cluster === true ? [['Removed From Cluster', 'true']] : []),
  ]
}

const leaderRows = (status: JsonMap, leader: JsonMap): Row[] => {
  const enabled: Row = ['HA Enabled', goText(leader.ha_enabled)]
  if (leader.ha_enabled !== true || status.sealed === true) return [enabled]
  const isActive = leader.is_self === true
  return [
    enabled,
    ['HA Cluster', textOf(leader.leader_cluster_address) || '<none>'],
    ['HA Mode', isActive ? 'active' : 'standby'],
    ...(isActive && leader.active_time ? [['Active Since', textOf(leader.active_time)]] : []),
    ...(isActive ? [] : [['Active Node Address', textOf(leader.leader_address) || '<none>']]),
    ...(leader.performance_standby === true ? performanceRows(leader) : []),
    ...OPTIONAL_ROWS.flatMap(([name, title]) => (leader[name] ? [[title, goText(leader[name])]] : [])),
  ]
}

const performanceRows = (leader: JsonMap): Row[] => [
  ['Performance Standby Node', 'true'],
  ['Performance Standby Last Remote WAL', goText(leader.performance_standby_last_remote_wal ?? 0)],
]

const OPTIONAL_ROWS = [
  ['raft_committed_index', 'Raft Committed Index'],
  ['raft_applied_index', 'Raft Applied Index'],
  ['last_wal', 'Last WAL'],
] as const
