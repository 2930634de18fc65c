/** operator raft: the storage of a node, its snapshots and its peers. */
import { readFileSync, writeFileSync } from 'node:fs'
import { type Command, defineCommand } from '../command.js'
import { localError, messageOf, remoteError } from '../cli-error.js'
import { isMap, type JsonMap } from '../exact-json.js'
import { flag } from '../flags.js'
import { formatPairs, formatTable, type Row } from '../render/columns.js'
import { goText } from '../render/go-text.js'
import { textOf } from '../secret.js'

const DR_FLAG = { 'dr-token': flag.text('Operation token, for a DR secondary.') } as const

const drQuery = (token: string) => ({ query: token ? { dr_operation_token: token } : {} })

const ROOT = { isInRoot: true } as const

export const raftCommands: readonly Command[] = [
  defineCommand({
    name: 'operator raft list-peers',
    summary: 'List the nodes that share this storage',
    flags: DR_FLAG,
    run: async ({ api, out, flags }) => {
      const options = { ...ROOT, ...drQuery(flags['dr-token']) }
      const what = 'Error reading the raft cluster configuration'
      const secret = await api.find(what, 'GET', 'sys/storage/raft/configuration', options)
      if (!secret) throw remoteError('No raft cluster configuration found')
      return out.isTable ? out.value(secret, () => formatPeers(secret.data ?? {})) : out.secret(secret)
    },
  }),
  defineCommand({
    name: 'operator raft snapshot save',
    takes: 'FILE',
    count: [1, 1],
    summary: 'Save a snapshot of the cluster to a file',
    run: async ({ api, out, args: [file = ''] }) => {
      const { bytes } = await api.request('Error taking the snapshot', 'GET', 'sys/storage/raft/snapshot', ROOT)
      if (bytes.length === 0) throw remoteError('Error taking the snapshot: the answer is empty')
      inFile(() => writeFileSync(file, bytes, { mode: 0o600 }))
      return out.success(`Snapshot saved to: ${file}`)
    },
  }),
  defineCommand({
    name: 'operator raft snapshot restore',
    takes: 'FILE',
    count: [1, 1],
    summary: 'Make the cluster what a snapshot says',
    flags: { force: flag.bool('Restore a snapshot of another cluster, with other keys.') },
    run: async ({ api, out, args: [file = ''], flags }) => {
      const raw = inFile(() => readFileSync(file))
      const path = `sys/storage/raft/snapshot${flags.force ? '-force' : ''}`
      await api.request('Error installing the snapshot', 'POST', path, { raw, ...ROOT })
      return out.success(`Snapshot restored from: ${file}`)
    },
  }),
  defineCommand({
    name: 'operator raft autopilot state',
    summary: 'Tell how healthy the nodes are',
    flags: DR_FLAG,
    run: async ({ api, out, flags }) => {
      const options = { ...ROOT, ...drQuery(flags['dr-token']) }
      const path = 'sys/storage/raft/autopilot/state'
      const secret = await api.find('Error checking autopilot state', 'GET', path, options)
      const state = secret?.data
      if (!state) throw remoteError('No autopilot state found')
      return out.record(state, () => formatState(state))
    },
  }),
  defineCommand({
    name: 'operator raft join',
    takes: 'LEADER_API_ADDRESS',
    count: [0, 1],
    summary: 'Join another node; refused by servers that are alone in their cluster',
    flags: { retry: flag.bool('Try again until the other node answers.') },
    run: async ({ api, out, args: [address = ''], flags }) => {
      const body = { leader_api_addr: address, retry: flags.retry }
      const reply = await api.request('Error joining the node to the Raft cluster', 'POST', 'sys/storage/raft/join', {
        body,
        ...ROOT,
      })
      return out.record(reply.body, () => formatPairs([['Joined', goText(reply.body.joined)]]))
    },
  }),
]

const inFile = <T>(act: () => T): T => {
  try {
    return act()
  } catch (error) {
    throw localError(`The snapshot file cannot be used: ${messageOf(error)}`, error)
  }
}

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

const formatState = (state: JsonMap): string => {
  const servers = Object.values(isMap(state.servers) ? state.servers : {}).filter(isMap)
  const head = [
    ['Healthy', goText(state.healthy)],
    ['Failure Tolerance', goText(state.failure_tolerance)],
    ['Leader', goText(state.leader)],
    ['Voters', goText(state.voters)],
  ]
  const rows = servers.map(
    (server): Row => [
      textOf(server.id),
      textOf(server.address),
      textOf(server.status),
      textOf(server.node_status),
      goText(server.healthy),
      goText(server.last_index ?? ''),
    ],
  )
  return `${formatPairs(head)}\n\n${formatTable(['Server', 'Address', 'Status', 'Node Status', 'Healthy', 'Last Index'], rows)}`
}
