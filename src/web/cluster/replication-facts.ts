import { type Json, listOf, textOf } from '../parts/api.js'

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

/** Returns only the fields in the status. A list is shown on one line. */
export const factsOf = (status: Json): readonly (readonly [name: string, value: string])[] =>
  FACTS.flatMap((name) => {
    const value = Array.isArray(status[name]) ? listOf(status, name).join(', ') : textOf(status, name)
    return value === '' ? [] : [[name, value] as const]
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
  return [...heard, ...silent.map((id) => peerOf({ node_id: id, connection_status: 'not connected' }))]
}

export const primariesOf = (status: Json): readonly Peer[] =>
  listOf(status, 'primaries').map((row) => peerOf(row as Json))

/**
 * Decodes a token of a key-share ceremony with the one-time password of its start: XORs their bytes. Throws if their
 * lengths differ.
 */
export const decodeToken = (encoded: string, password: string): string => {
  const bytes = atob(encoded.replace(/=+$/, ''))
  if (bytes.length !== password.length) throw new Error('this one-time password belongs to another attempt')
  return [...bytes].map((byte, index) => String.fromCharCode(byte.charCodeAt(0) ^ password.charCodeAt(index))).join('')
}
