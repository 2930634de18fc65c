import { type ApiAction, destroy, field, post, required } from '../actions/action.js'
import type { PageKind } from '../../lab/web/page-facts.js'
import { type Json, listOf, partOf, textOf } from '../parts/api.js'

/** Part of the warning before a role change. */
const PAUSE = 'The cluster is unavailable for a moment.'

const ADDRESS = field('text', 'primary_cluster_addr', 'Cluster address', {
  hint: 'announced to secondaries instead of the configured address',
})
const API_ADDRESS = field('text', 'primary_api_addr', 'API address of the primary', {
  hint: 'replaces the address in the token',
})

/** The actions by the mode of the cluster. The paths are relative to `sys/replication/KIND/`. */
const ACTIONS: Readonly<Record<string, readonly ApiAction[]>> = {
  disabled: [
    post('Enable as primary …', 'primary/enable', {
      fields: [ADDRESS],
      consequence: `Other clusters can then become its secondaries. ${PAUSE}`,
    }),
    destroy(
      'Enable as secondary …',
      'secondary/enable',
      'The data of this cluster is erased. The primary replaces its data, keys and tokens.',
      {
        fields: [
          required('secret', 'token', 'Activation token'),
          API_ADDRESS,
          field('text', 'ca_file', 'CA certificate file'),
        ],
      },
    ),
  ],
  primary: [
    post('Generate an activation token …', 'primary/secondary-token', {
      fields: [
        required('text', 'id', 'Secondary ID'),
        field('text', 'ttl', 'TTL', { initial: '30m' }),
        field('long', 'secondary_public_key', 'Public key of the secondary'),
      ],
      consequence: 'The token can enable one secondary and works once.',
    }),
    destroy(
      'Demote …',
      'primary/demote',
      'The cluster rejects writes. It has no primary until you use "Update the primary".',
    ),
    destroy(
      'Disable …',
      'primary/disable',
      'The secondaries lose their primary. If they rejoin, they copy all data again.',
    ),
  ],
  secondary: [
    destroy(
      'Promote …',
      'secondary/promote',
      'The cluster becomes primary. A reachable primary also stays primary: demote it first.',
      {
        fields: [
          ADDRESS,
          field('check', 'force', 'Force', {
            hint: 'promotes the cluster even if it lacks entries, which are then lost',
          }),
        ],
      },
    ),
    destroy(
      'Update the primary …',
      'secondary/update-primary',
      'The cluster follows the primary that issued the token, or finds its primary at other addresses.',
      {
        fields: [
          field('secret', 'token', 'Activation token', { hint: 'issued by the new primary' }),
          field('lines', 'update_primary_addrs', 'Cluster addresses', { hint: 'of the primary, one per line' }),
          API_ADDRESS,
        ],
      },
    ),
    destroy('Disable …', 'secondary/disable', 'The cluster has no primary and keeps its data.'),
  ],
}

/**
 * Returns the actions of a cluster for one kind of replication. `status`: the status of both kinds. All actions of a DR
 * secondary require an operation token.
 */
export const actionsOf = (kind: PageKind, status: Json, operationToken: string): readonly ApiAction[] => {
  const modeOf = (one: PageKind) => textOf(partOf(status, one), 'mode')
  const isDrSecondary = modeOf('dr') === 'secondary'
  if (kind === 'performance' && isDrSecondary) return []
  const token = field('secret', 'dr_operation_token', 'Operation token', {
    initial: operationToken,
    hint: 'generated on this page from key shares',
  })
  const mode = modeOf(kind)
  return (Object.hasOwn(ACTIONS, mode) ? (ACTIONS[mode] ?? []) : []).map((action) => ({
    ...action,
    path: `sys/replication/${kind}/${action.path}`,
    ...(isDrSecondary && { fields: [...(action.fields ?? []), token] }),
  }))
}

/** Returns the action of a primary that revokes a secondary. */
export const revokeAction = (kind: PageKind, id: string): ApiAction =>
  destroy(
    'Revoke …',
    `sys/replication/${kind}/primary/revoke-secondary`,
    `"${id}" receives no more data. To rejoin, it requires a new activation token.`,
    { fixed: { id } },
  )

export const filterPath = (id: string): string => `sys/replication/performance/primary/paths-filter/${id}`

/** Returns the actions on a filter. `filter`: the current filter; empty if there is none. */
export const filterActions = (id: string, filter: Json): readonly ApiAction[] => {
  const mode = textOf(filter, 'mode')
  const [path, consequence] = [filterPath(id), `"${id}" then receives all data.`]
  return [
    destroy('Set the path filter …', path, `Data of the filtered paths is removed from "${id}".`, {
      fields: [
        field('choice', 'mode', 'Mode', { choices: ['deny', 'allow'], initial: mode || 'deny' }),
        field('lines', 'paths', 'Paths of mounts and namespaces, one per line', {
          initial: listOf(filter, 'paths').join('\n'),
        }),
      ],
    }),
    ...(mode === '' ? [] : [{ ...post('Remove the path filter …', path, { consequence }), method: 'DELETE' } as const]),
  ]
}

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

/** Returns the fields to show that the status contains. */
export const factsOf = (status: Json): readonly (readonly [name: string, value: string])[] =>
  FACTS.flatMap((name) => {
    const value = textOf(status, name)
    return value === '' ? [] : [[name, value] as const]
  })

/** Returns a row for each known secondary: the connected ones from the status, then the others. */
export const secondariesOf = (status: Json): readonly Json[] => {
  const connected = listOf(status, 'secondaries') as readonly Json[]
  const disconnected = listOf(status, 'known_secondaries')
    .map(String)
    .filter((id) => connected.every((row) => textOf(row, 'node_id') !== id))
  return [...connected, ...disconnected.map((id) => ({ node_id: id, connection_status: 'not connected' }))]
}

/** Decodes a token: XORs its bytes with the one-time password of the attempt. Throws if the lengths differ. */
export const decodeToken = (encoded: string, password: string): string => {
  const bytes = atob(encoded.replace(/=+$/, ''))
  if (bytes.length !== password.length)
    throw new Error('the one-time password belongs to another attempt: enter the one of this attempt')
  return [...bytes].map((byte, index) => String.fromCharCode(byte.charCodeAt(0) ^ password.charCodeAt(index))).join('')
}
