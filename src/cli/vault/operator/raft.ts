/** operator raft: the storage of a node, its snapshots and its peers. */
import { replaceFile } from '../../../base/replace-file.js'
import { readNamedFile } from '../../../base/named-file.js'
import { LIMITS } from '../../../base/limits.js'
import { type Command, defineCommand } from '../command.js'
import { localError, messageOf, remoteError, VAULT_EXIT } from '../model/cli-error.js'
import { isMap, type JsonMap } from '../model/json-map.js'
import { flag } from '../flags.js'
import { formatPairs, formatTable, type Row } from '../render/columns.js'
import { goText } from '../render/go-text.js'
import { textOf } from '../model/secret.js'
import { readText } from '../values.js'
import { DR_FLAG, drQuery } from './dr-token.js'

const ROOT = { isInRoot: true } as const

const JOIN_FLAGS = {
  retry: flag.bool('Try again until the other node answers.'),
  'non-voter': flag.bool('Join without a vote.'),
  'leader-ca-cert': flag.text('Certificate authority of the other node, or @FILE.'),
  'leader-client-cert': flag.text('Certificate to show to the other node, or @FILE.'),
  'leader-client-key': flag.text('Key of that certificate, or @FILE.'),
  'auto-join-scheme': flag.text('Scheme of the addresses that are found.', { fallback: 'https' }),
  'auto-join-port': flag.int('Port of the addresses that are found.', { fallback: '8200' }),
} as const

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
    run: async ({ api, args: [file = ''] }) => {
      const options = { ...ROOT, bytesMax: LIMITS.snapshotBytesMax }
      const { bytes } = await api.request('Error taking the snapshot', 'GET', 'sys/storage/raft/snapshot', options)
      if (bytes.length === 0) throw remoteError('Error taking the snapshot: the answer is empty')
      inFile(() => replaceFile(file, bytes))
      return VAULT_EXIT.ok
    },
  }),
  defineCommand({
    name: 'operator raft snapshot restore',
    takes: 'FILE',
    count: [1, 1],
    summary: 'Make the cluster what a snapshot says',
    flags: { force: flag.bool('Restore a snapshot of another cluster, with other keys.') },
    run: async ({ api, args: [file = ''], flags }) => {
      const raw = inFile(() => readNamedFile(file, LIMITS.snapshotBytesMax))
      const path = `sys/storage/raft/snapshot${flags.force ? '-force' : ''}`
      await api.request('Error installing the snapshot', 'POST', path, { raw, ...ROOT })
      return VAULT_EXIT.ok
    },
  }),
  defineCommand({
    name: 'operator raft join',
    takes: '[LEADER_API_ADDRESS | AUTO_JOIN]',
    count: [0, 1],
    summary: 'Join the cluster of another node; for a server that has none yet',
    flags: JOIN_FLAGS,
    run: async ({ api, out, io, args: [place = ''], flags }) => {
      // An argument that is not an address describes address discovery: `provider=...`.
      const isAddress = URL.canParse(place) || !place.includes('=')
      const [caCert, clientCert, clientKey] = await Promise.all(
        [flags['leader-ca-cert'], flags['leader-client-cert'], flags['leader-client-key']].map((text) =>
          readText(text, io),
        ),
      )
      const body = {
        leader_api_addr: isAddress ? place : '',
        auto_join: isAddress ? '' : place,
        auto_join_scheme: flags['auto-join-scheme'],
        auto_join_port: flags['auto-join-port'] ?? 0,
        leader_ca_cert: caCert,
        leader_client_cert: clientCert,
        leader_client_key: clientKey,
        retry: flags.retry,
        non_voter: flags['non-voter'],
      }
      const reply = await api.request('Error joining the node to the Raft cluster', 'POST', 'sys/storage/raft/join', {
        body,
        ...ROOT,
      })
      return out.record(reply.body, () => formatPairs([['Joined', goText(reply.body.joined)]]))
    },
  }),
  defineCommand({
    name: 'operator raft remove-peer',
    takes: 'SERVER_ID',
    count: [1, 1],
    summary: 'Take a node out of the cluster for good',
    flags: DR_FLAG,
    run: async ({ api, out, args: [id = ''], flags }) => {
      const token = flags['dr-token']
      const body = { server_id: id, ...(token && { dr_operation_token: token }) }
      const what = 'Error removing the peer from raft cluster'
      await api.request(what, 'PUT', 'sys/storage/raft/remove-peer', { body, ...ROOT })
      if (out.isTable) out.line('Peer removed successfully!')
      return VAULT_EXIT.ok
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
