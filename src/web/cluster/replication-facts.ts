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

/** Returns the rows of the secondaries, including known ones that are disconnected. */
export const secondariesOf = (status: Json): readonly Json[] => {
  const heard = listOf(status, 'secondaries') as readonly Json[]
  const silent = listOf(status, 'known_secondaries')
    .map(String)
    .filter((id) => heard.every((row) => textOf(row, 'node_id') !== id))
  return [...heard, ...silent.map((id) => ({ node_id: id, connection_status: 'not connected' }))]
}

/**
 * Decodes a token of a key-share ceremony with the one-time password of its start: XORs their bytes. Throws if their
 * lengths differ.
 */
export const decodeToken = (encoded: string, password: string): string => {
  const bytes = atob(encoded.replace(/=+$/, ''))
  if (bytes.length !== password.length) throw new Error('this one-time password belongs to another attempt')
  return [...bytes].map((byte, index) => String.fromCharCode(byte.charCodeAt(0) ^ password.charCodeAt(index))).join('')
}
