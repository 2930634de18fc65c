import { type Json, listOf, textOf } from '../call.js'

/** The status fields to show for one kind of replication, in this order. */
const FACTS = [
  'mode',
  'state',
  'cluster_id',
  'secondary_id',
  'connection_state',
  'primary_cluster_addr',
  'known_primary_cluster_addrs',
  'last_wal',
  'last_dr_wal',
  'last_performance_wal',
  'last_remote_wal',
  'last_start',
  'merkle_root',
  'corrupted_merkle_tree',
] as const

interface Fact {
  readonly name: string
  readonly value: string
}

/** Returns only the fields in the status. A list is shown on one line. */
export const factsOf = (status: Json): readonly Fact[] =>
  FACTS.flatMap((name) => {
    const value = Array.isArray(status[name]) ? listOf(status, name).join(', ') : textOf(status, name)
    return value === '' ? [] : [{ name, value }]
  })

/** The other side of a link: a secondary of a primary, or the primary of a secondary. */
export interface Peer {
  readonly id: string
  readonly connection: string
  readonly apiAddress: string
  readonly clusterAddress: string
  readonly lastHeartbeat: string
}

const peerOf = (row: Json): Peer => ({
  id: textOf(row, 'node_id'),
  connection: textOf(row, 'connection_status'),
  apiAddress: textOf(row, 'api_address'),
  clusterAddress: textOf(row, 'cluster_address'),
  lastHeartbeat: textOf(row, 'last_heartbeat'),
})

/** Returns the secondaries, including known ones that are disconnected. */
export const secondariesOf = (status: Json): readonly Peer[] => {
  const heard = listOf(status, 'secondaries').map((row) => peerOf(row as Json))
  const silent = listOf(status, 'known_secondaries')
    .map(String)
    .filter((id) => heard.every((peer) => peer.id !== id))
  return [
    ...heard,
    ...silent.map((id) => ({
      ...{ id, connection: 'not heard of' },
      apiAddress: '',
      clusterAddress: '',
      lastHeartbeat: '',
    })),
  ]
}

export const primariesOf = (status: Json): readonly Peer[] =>
  listOf(status, 'primaries').map((row) => peerOf(row as Json))
