/** operator raft autopilot: the health of the nodes of a cluster, and its thresholds. */
import { ROOT } from '../api.js'
import { type Command, command, givenFields } from '../command.js'
import { DR_FLAG, drQuery, flag } from '../flags.js'
import { isMap, type JsonMap, localError, remoteError, VAULT_EXIT } from '../model.js'
import { formatPairs, goText, type Row } from '../text.js'

const CONFIGURATION = 'sys/storage/raft/autopilot/configuration'

const SETTINGS = {
  'cleanup-dead-servers': flag.bool('Remove servers that are dead.'),
  'last-contact-threshold': flag.text('Silence after which a server is unhealthy.'),
  'dead-server-last-contact-threshold': flag.text('Silence after which a server is dead.'),
  'max-trailing-logs': flag.int('Entries that a healthy server may lag behind.'),
  'min-quorum': flag.int('Fewest servers that are left when dead ones are removed.'),
  'server-stabilization-time': flag.text('How long a new server must be healthy before it gets a vote.'),
  'disable-upgrade-migration': flag.bool('Do not move the votes to servers of a newer version.'),
} as const

/** Maps the keys of the configuration to their titles, in display order. */
const TITLES = {
  cleanup_dead_servers: 'Cleanup Dead Servers',
  last_contact_threshold: 'Last Contact Threshold',
  dead_server_last_contact_threshold: 'Dead Server Last Contact Threshold',
  server_stabilization_time: 'Server Stabilization Time',
  min_quorum: 'Min Quorum',
  max_trailing_logs: 'Max Trailing Logs',
  disable_upgrade_migration: 'Disable Upgrade Migration',
} as const

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
      const rows = Object.entries(TITLES).flatMap(([key, title]): Row[] =>
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
      if (Object.keys(given).length === 0) throw localError('Nothing to set: name at least one setting')
      const body = { ...given, ...drQuery(flags).query }
      const what = 'Error updating autopilot configuration'
      const { secret } = await api.request(what, 'PUT', CONFIGURATION, { body, ...ROOT })
      return secret ? out.secret(secret) : VAULT_EXIT.ok
    },
  ),
]

const HEAD_WIDTH = 33
const SERVER_WIDTH = 19

const HEAD = [
  ['Healthy', 'healthy'],
  ['Failure Tolerance', 'failure_tolerance'],
  ['Leader', 'leader'],
] as const

const SERVER = [
  ['Name', 'name'],
  ['Address', 'address'],
  ['Status', 'status'],
  ['Node Status', 'node_status'],
  ['Healthy', 'healthy'],
  ['Last Contact', 'last_contact'],
  ['Last Term', 'last_term'],
  ['Last Index', 'last_index'],
  ['Version', 'version'],
  ['Upgrade Version', 'upgrade_version'],
  ['Redundancy Zone', 'redundancy_zone'],
  ['Node Type', 'node_type'],
] as const

const formatState = (state: JsonMap): string => {
  const servers = isMap(state.servers) ? state.servers : {}
  return [
    ...HEAD.map(([title, key]) => `${`${title}:`.padEnd(HEAD_WIDTH)}${goText(state[key])}`),
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
  ...SERVER.flatMap(([title, key]) =>
    isMap(server) && server[key] !== undefined
      ? [`      ${`${title}:`.padEnd(SERVER_WIDTH)}${goText(server[key])}`]
      : [],
  ),
]
