import { type ApiAction, destroy, field, post, required } from '../actions/action.js'
import type { PageKind } from '../../lab/web/page-facts.js'
import { type Json, listOf, partOf, textOf } from '../parts/api.js'

/** Warning of each role change: the server is unavailable for a moment. */
const PAUSE = 'The cluster does not answer for a moment.'

const ADDRESS = field('text', 'primary_cluster_addr', 'Cluster address', {
  hint: 'what secondaries are told instead of the configured one',
})
const API_ADDRESS = field('text', 'primary_api_addr', 'API address of the primary', {
  hint: 'instead of the one in the token',
})

/** The actions in each mode, with paths below those of a kind of replication. */
const ACTS: Readonly<Record<string, readonly ApiAction[]>> = {
  disabled: [
    post('Enable as primary …', 'primary/enable', {
      fields: [ADDRESS],
      consequence: `Others can follow this cluster from then on. ${PAUSE}`,
    }),
    destroy(
      'Enable as secondary …',
      'secondary/enable',
      'All data of this cluster is replaced by that of the primary, and so are its keys and tokens.',
      {
        fields: [
          required('secret', 'token', 'Activation token'),
          API_ADDRESS,
          field('text', 'ca_file', 'File of CA certificates'),
        ],
      },
    ),
  ],
  primary: [
    post('Generate an activation token …', 'primary/secondary-token', {
      fields: [
        required('text', 'id', 'Id of the secondary'),
        field('text', 'ttl', 'Good for', { initial: '30m' }),
        field('long', 'secondary_public_key', 'Public key of the secondary'),
      ],
      consequence: 'The secondary is enabled with it, once.',
    }),
    destroy('Demote …', 'primary/demote', 'It accepts no more writes, and has no primary until it is told one.'),
    destroy(
      'Disable …',
      'primary/disable',
      'Its secondaries lose their primary. To join again, they take a full copy of all data.',
    ),
  ],
  secondary: [
    destroy(
      'Promote …',
      'secondary/promote',
      'It leads from then on. A primary that is alive stays one: demote that first.',
      { fields: [ADDRESS, field('check', 'force', 'At any price', { hint: 'also where something may be lost' })] },
    ),
    destroy(
      'Update the primary …',
      'secondary/update-primary',
      'It follows the cluster that the token is of, or looks for its own at other addresses.',
      {
        fields: [
          field('secret', 'token', 'Activation token', { hint: 'of the primary to follow' }),
          field('lines', 'update_primary_addrs', 'Cluster addresses', { hint: 'to look for the primary at' }),
          API_ADDRESS,
        ],
      },
    ),
    destroy('Disable …', 'secondary/disable', 'It has no primary any more, and keeps its data.'),
  ],
}

/**
 * Returns the actions of a cluster for one kind of replication, from its full status. All actions of a DR secondary
 * need an operation token.
 */
export const actsOf = (kind: PageKind, status: Json, operationToken: string): readonly ApiAction[] => {
  const modeOf = (one: PageKind) => textOf(partOf(status, one), 'mode')
  const isDrSecondary = modeOf('dr') === 'secondary'
  if (kind === 'performance' && isDrSecondary) return []
  const token = field('secret', 'dr_operation_token', 'Operation token', {
    initial: operationToken,
    hint: 'made on this page, share by share',
  })
  const mode = modeOf(kind)
  return (Object.hasOwn(ACTS, mode) ? (ACTS[mode] ?? []) : []).map((act) => ({
    ...act,
    path: `sys/replication/${kind}/${act.path}`,
    ...(isDrSecondary && { fields: [...(act.fields ?? []), token] }),
  }))
}

/** Returns the action of a primary that revokes a secondary. */
export const revokeAct = (kind: PageKind, id: string): ApiAction =>
  destroy(
    'Revoke …',
    `sys/replication/${kind}/primary/revoke-secondary`,
    `"${id}" gets nothing any more, and cannot come back without a new activation token.`,
    { fixed: { id } },
  )

export const filterPath = (id: string): string => `sys/replication/performance/primary/paths-filter/${id}`

/** Returns the actions on a filter. `filter`: the current filter; empty if there is none. */
export const filterActs = (id: string, filter: Json): readonly ApiAction[] => {
  const mode = textOf(filter, 'mode')
  const [path, consequence] = [filterPath(id), `"${id}" gets everything from then on.`]
  return [
    destroy('Set the path filter …', path, `What "${id}" holds of a path that it may not have is taken from it.`, {
      fields: [
        field('choice', 'mode', 'Mode', { choices: ['deny', 'allow'], initial: mode || 'deny' }),
        field('lines', 'paths', 'Paths of mounts and namespaces, one a line', {
          initial: listOf(filter, 'paths').join('\n'),
        }),
      ],
    }),
    ...(mode === '' ? [] : [{ ...post('Remove the path filter …', path, { consequence }), method: 'DELETE' } as const]),
  ]
}
