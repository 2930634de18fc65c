/** The commands of operator raft: peers, snapshots and Autopilot. */
import { LIMITS } from '../../../base/limits.js'
import { readNamedFile } from '../../../base/named-file.js'
import { messageOf } from '../../../base/printable.js'
import { replaceFile } from '../../../base/replace-file.js'
import { inspectSnapshot } from '../../../server/data/snapshot-inspection.js'
import { ROOT } from '../api.js'
import { type Command, command, givenFields } from '../command.js'
import { DR_FLAG, drQuery, flag } from '../flags.js'
import { isMap, type JsonMap, localError, locally, remoteError, textOf, VAULT_EXIT } from '../model.js'
import { formatPairs, formatTable, goText, type Row } from '../text.js'
import { readText } from '../values.js'

const FILE_FAILED = 'The snapshot file cannot be used'

const JOIN_FLAGS = {
  retry: flag.bool('Retry until the other node responds.'),
  'non-voter': flag.bool('Join without a vote.'),
  'leader-ca-cert': flag.text('CA certificate of the other node, or @FILE.'),
  'leader-client-cert': flag.text('Client certificate for the other node, or @FILE.'),
  'leader-client-key': flag.text('Private key of the client certificate, or @FILE.'),
  'auto-join-scheme': flag.text('Scheme of the discovered addresses.', { fallback: 'https' }),
  'auto-join-port': flag.int('Port of the discovered addresses.', { fallback: '8200' }),
} as const

export const raftCommands: readonly Command[] = [
  command('operator raft list-peers', 'List the nodes of the cluster', DR_FLAG, async ({ api, out, flags }) => {
    const options = { ...ROOT, ...drQuery(flags) }
    const what = 'Error reading the raft cluster configuration'
    const secret = await api.find(what, 'GET', 'sys/storage/raft/configuration', options)
    if (!secret) throw remoteError('No raft cluster configuration found')
    return out.isTable ? out.value(secret, () => formatPeers(secret.data ?? {})) : out.secret(secret)
  }),
  command(
    'operator raft snapshot save FILE',
    'Save a snapshot of the cluster to a file',
    async ({ api, args: [file = ''] }) => {
      const options = { ...ROOT, bytesMax: LIMITS.snapshotBytesMax }
      const { bytes } = await api.request('Error taking the snapshot', 'GET', 'sys/storage/raft/snapshot', options)
      if (bytes.length === 0) throw remoteError('Error taking the snapshot: the response is empty')
      locally(FILE_FAILED, () => replaceFile(file, bytes))
      return VAULT_EXIT.ok
    },
  ),
  command(
    'operator raft snapshot restore FILE',
    'Restore the cluster from a snapshot',
    { force: flag.bool('Restore a snapshot of another cluster, with other keys.') },
    async ({ api, args: [file = ''], flags }) => {
      const raw = locally(FILE_FAILED, () => readNamedFile(file, LIMITS.snapshotBytesMax))
      const path = `sys/storage/raft/snapshot${flags.force ? '-force' : ''}`
      await api.request('Error installing the snapshot', 'POST', path, { raw, ...ROOT })
      return VAULT_EXIT.ok
    },
  ),
  command(
    'operator raft join [LEADER_API_ADDRESS | AUTO_JOIN]',
    'Join this new server to the cluster of another node',
    JOIN_FLAGS,
    async ({ api, out, io, args: [target = ''], flags }) => {
      // An argument such as `provider=...` is not an address. It configures the discovery of addresses.
      const isAddress = URL.canParse(target) || !target.includes('=')
      const body = {
        leader_api_addr: isAddress ? target : '',
        auto_join: isAddress ? '' : target,
        auto_join_scheme: flags['auto-join-scheme'],
        auto_join_port: flags['auto-join-port'] ?? 0,
        leader_ca_cert: await readText(flags['leader-ca-cert'], io),
        leader_client_cert: await readText(flags['leader-client-cert'], io),
        leader_client_key: await readText(flags['leader-client-key'], io),
        retry: flags.retry,
        non_voter: flags['non-voter'],
      }
      const what = 'Error joining the node to the Raft cluster'
      const reply = await api.request(what, 'POST', 'sys/storage/raft/join', { body, ...ROOT })
      return out.record(reply.body, () => formatPairs([['Joined', goText(reply.body.joined)]]))
    },
  ),
  command(
    'operator raft remove-peer SERVER_ID',
    'Remove a node from the cluster',
    DR_FLAG,
    async ({ api, out, args: [id = ''], flags }) => {
      const body = { server_id: id, ...drQuery(flags).query }
      const what = 'Error removing the peer from raft cluster'
      await api.request(what, 'PUT', 'sys/storage/raft/remove-peer', { body, ...ROOT })
      if (out.isTable) out.line('Peer removed successfully!')
      return VAULT_EXIT.ok
    },
  ),
  // This command sends no request, because the file describes its contents without encryption.
  command(
    'operator raft snapshot inspect FILE',
    'Print the contents of a snapshot file',
    async ({ out, args: [file = ''] }) => {
      const archive = locally(FILE_FAILED, () => readNamedFile(file, LIMITS.snapshotBytesMax))
      const { clusterId, index, parts } = await inspectSnapshot(archive).catch((error: unknown) => {
        throw localError(`${FILE_FAILED}: ${messageOf(error)}`, error)
      })
      const total = (of: 'count' | 'bytes') => parts.reduce((sum, part) => sum + part[of], 0)
      const record = { cluster_id: clusterId, index, size: total('bytes'), count: total('count'), parts: [...parts] }
      const rows = parts.map(({ name, count, bytes }): Row => [name, String(count), String(bytes)])
      const head: Row[] = [
        ['Cluster ID', clusterId],
        ['Index', String(index)],
        ['Size', String(record.size)],
      ]
      rows.push(['Total', String(record.count), String(record.size)])
      return out.record(record, () => `${formatPairs(head)}\n\n${formatTable(['Key Name', 'Count', 'Size'], rows)}`)
    },
  ),
]

const formatPeers = (data: JsonMap): string => {
  const servers = isMap(data.config) && Array.isArray(data.config.servers) ? data.config.servers.filter(isMap) : []
  const rows = servers.map(
    (server): Row => [
      textOf(server.node_id),
      textOf(server.address),
      server.leader === true ? 'leader' : 'follower',
      goText(server.voter),
    ],
  )
  return formatTable(['Node', 'Address', 'State', 'Voter'], rows)
}

const CONFIGURATION = 'sys/storage/raft/autopilot/configuration'

const SETTINGS = {
  'cleanup-dead-servers': flag.bool('Remove dead servers automatically.'),
  'last-contact-threshold': flag.text('Time without contact after which a server is unhealthy.'),
  'dead-server-last-contact-threshold': flag.text('Time without contact after which a server is dead.'),
  'max-trailing-logs': flag.int('Maximum lag of a healthy server, in entries.'),
  'min-quorum': flag.int('Minimum number of servers that remain when dead servers are removed.'),
  'server-stabilization-time': flag.text('Time that a new server must be healthy before it gets a vote.'),
  'disable-upgrade-migration': flag.bool('Do not move votes to servers of a newer version.'),
} as const

/** The JSON keys that are printed, in display order. */
const CONFIGURATION_KEYS =
  'cleanup_dead_servers last_contact_threshold dead_server_last_contact_threshold server_stabilization_time min_quorum max_trailing_logs disable_upgrade_migration'
const STATE_KEYS = 'healthy failure_tolerance leader'
const SERVER_KEYS =
  'name address status node_status healthy last_contact last_term last_index version upgrade_version redundancy_zone node_type'

/** Returns each key with its title, for example `last_contact` with `Last Contact`. */
const titled = (keys: string): (readonly [key: string, title: string])[] =>
  keys.split(' ').map((key) => [key, key.replaceAll('_', ' ').replace(/\b[a-z]/g, (letter) => letter.toUpperCase())])

export const autopilotCommands: readonly Command[] = [
  command('operator raft autopilot state', 'Print the health of the nodes', DR_FLAG, async ({ api, out, flags }) => {
    const options = { ...ROOT, ...drQuery(flags) }
    const path = 'sys/storage/raft/autopilot/state'
    const state = (await api.find('Error checking autopilot state', 'GET', path, options))?.data
    if (!state) throw remoteError('No autopilot state found')
    return out.record(state, () => formatState(state))
  }),
  command(
    'operator raft autopilot get-config',
    'Print the autopilot configuration',
    DR_FLAG,
    async ({ api, out, flags }) => {
      const options = { ...ROOT, ...drQuery(flags) }
      const config = (await api.find('Error reading autopilot configuration', 'GET', CONFIGURATION, options))?.data
      if (!config) throw remoteError('No autopilot configuration found')
      const rows = titled(CONFIGURATION_KEYS).flatMap(([key, title]): Row[] =>
        config[key] === undefined ? [] : [[title, goText(config[key])]],
      )
      return out.record(config, () => formatPairs(rows))
    },
  ),
  command(
    'operator raft autopilot set-config',
    'Change the autopilot configuration',
    { ...SETTINGS, ...DR_FLAG },
    async (call) => {
      const { api, out, flags } = call
      const given = givenFields(call, SETTINGS)
      if (Object.keys(given).length === 0) throw localError('Nothing to set: specify at least one setting')
      const body = { ...given, ...drQuery(flags).query }
      const what = 'Error updating autopilot configuration'
      const { secret } = await api.request(what, 'PUT', CONFIGURATION, { body, ...ROOT })
      return secret ? out.secret(secret) : VAULT_EXIT.ok
    },
  ),
]

const HEAD_WIDTH = 33
const SERVER_WIDTH = 19

const formatState = (state: JsonMap): string => {
  const servers = isMap(state.servers) ? state.servers : {}
  return [
    ...titled(STATE_KEYS).map(([key, title]) => `${`${title}:`.padEnd(HEAD_WIDTH)}${goText(state[key])}`),
    ...listLines('Voters', state.voters),
    ...listLines('Non Voters', state.non_voters),
    ...(Number(goText(state.optimistic_failure_tolerance ?? 0)) > 0
      ? [`${'Optimistic Failure Tolerance:'.padEnd(HEAD_WIDTH)}${goText(state.optimistic_failure_tolerance)}`]
      : []),
    'Servers:',
    ...Object.keys(servers)
      .sort()
      .flatMap((id) => serverLines(id, servers[id])),
  ].join('\n')
}

const listLines = (title: string, values: unknown): string[] =>
  Array.isArray(values) && values.length > 0 ? [`${title}:`, ...values.map((value) => `   ${goText(value)}`)] : []

const serverLines = (id: string, server: unknown): string[] => [
  `   ${id}`,
  ...titled(SERVER_KEYS).flatMap(([key, title]) =>
    isMap(server) && server[key] !== undefined
      ? [`      ${`${title}:`.padEnd(SERVER_WIDTH)}${goText(server[key])}`]
      : [],
  ),
]
