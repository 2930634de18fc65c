/** operator raft: the storage of a node, its snapshots and its peers. */
import { LIMITS } from '../../../base/limits.js'
import { readNamedFile } from '../../../base/named-file.js'
import { messageOf } from '../../../base/printable.js'
import { replaceFile } from '../../../base/replace-file.js'
import { inspectSnapshot } from '../../../server/data/snapshot-inspection.js'
import { ROOT } from '../api.js'
import { type Command, command } from '../command.js'
import { DR_FLAG, drQuery, flag } from '../flags.js'
import { isMap, type JsonMap, localError, locally, remoteError, textOf, VAULT_EXIT } from '../model.js'
import { formatPairs, formatTable, goText, type Row } from '../text.js'
import { readText } from '../values.js'

const FILE_FAILED = 'The snapshot file cannot be used'

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
  command(
    'operator raft list-peers',
    'List the nodes that share this storage',
    DR_FLAG,
    async ({ api, out, flags }) => {
      const options = { ...ROOT, ...drQuery(flags) }
      const what = 'Error reading the raft cluster configuration'
      const secret = await api.find(what, 'GET', 'sys/storage/raft/configuration', options)
      if (!secret) throw remoteError('No raft cluster configuration found')
      return out.isTable ? out.value(secret, () => formatPeers(secret.data ?? {})) : out.secret(secret)
    },
  ),
  command(
    'operator raft snapshot save FILE',
    'Save a snapshot of the cluster to a file',
    async ({ api, args: [file = ''] }) => {
      const options = { ...ROOT, bytesMax: LIMITS.snapshotBytesMax }
      const { bytes } = await api.request('Error taking the snapshot', 'GET', 'sys/storage/raft/snapshot', options)
      if (bytes.length === 0) throw remoteError('Error taking the snapshot: the answer is empty')
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
    async ({ api, out, io, args: [place = ''], flags }) => {
      // An argument that is not an address describes address discovery: `provider=...`.
      const isAddress = URL.canParse(place) || !place.includes('=')
      const body = {
        leader_api_addr: isAddress ? place : '',
        auto_join: isAddress ? '' : place,
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
  // Reads the file locally: its description needs no key.
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
