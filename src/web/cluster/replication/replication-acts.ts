import type { Act, Field } from '../acts.js'
import type { Json } from '../call.js'
import { listOf, partOf, textOf } from '../call.js'

export type Kind = 'dr' | 'performance'
export const KINDS: readonly Kind[] = ['dr', 'performance']
export const KIND_TITLES: Readonly<Record<Kind, string>> = { dr: 'Disaster recovery', performance: 'Performance' }

/** Warning of each role change: the server is unavailable for a moment. */
const PAUSE = 'The cluster does not answer for a moment.'

const ADDRESS: Field = {
  name: 'primary_cluster_addr',
  label: 'Cluster address',
  kind: 'text',
  hint: 'what secondaries are told instead of the configured one',
}
const FORCE: Field = { name: 'force', label: 'At any price', kind: 'check', hint: 'also where something may be lost' }
const ACTIVATION: Field = { name: 'token', label: 'Activation token', kind: 'secret', isRequired: true }
const API_ADDRESS: Field = {
  name: 'primary_api_addr',
  label: 'API address of the primary',
  kind: 'text',
  hint: 'instead of the one in the token',
}

const enableActs = (root: string): readonly Act[] => [
  {
    label: 'Enable as primary …',
    method: 'POST',
    path: `${root}/primary/enable`,
    fields: [ADDRESS],
    consequence: `Others can follow this cluster from then on. ${PAUSE}`,
  },
  {
    label: 'Enable as secondary …',
    method: 'POST',
    path: `${root}/secondary/enable`,
    fields: [ACTIVATION, API_ADDRESS, { name: 'ca_file', label: 'File of CA certificates', kind: 'text' }],
    consequence: 'All data of this cluster is replaced by that of the primary, and so are its keys and tokens.',
    isDestructive: true,
  },
]

const primaryActs = (root: string): readonly Act[] => [
  {
    label: 'Generate an activation token …',
    method: 'POST',
    path: `${root}/primary/secondary-token`,
    fields: [
      { name: 'id', label: 'Id of the secondary', kind: 'text', isRequired: true },
      { name: 'ttl', label: 'Good for', kind: 'text', initial: '30m' },
      { name: 'secondary_public_key', label: 'Public key of the secondary', kind: 'long' },
    ],
    consequence: 'The secondary is enabled with it, once.',
  },
  {
    label: 'Demote …',
    method: 'POST',
    path: `${root}/primary/demote`,
    consequence: 'It accepts no more writes, and has no primary until it is told one.',
    isDestructive: true,
  },
  {
    label: 'Disable …',
    method: 'POST',
    path: `${root}/primary/disable`,
    consequence: 'Its secondaries lose their primary. To join again, they take a full copy of all data.',
    isDestructive: true,
  },
]

const secondaryActs = (root: string): readonly Act[] => [
  {
    label: 'Promote …',
    method: 'POST',
    path: `${root}/secondary/promote`,
    fields: [ADDRESS, FORCE],
    consequence: 'It leads from then on. A primary that is alive stays one: demote that first.',
    isDestructive: true,
  },
  {
    label: 'Update the primary …',
    method: 'POST',
    path: `${root}/secondary/update-primary`,
    fields: [
      { name: 'token', label: 'Activation token', kind: 'secret', hint: 'of the primary to follow' },
      { name: 'update_primary_addrs', label: 'Cluster addresses', kind: 'lines', hint: 'to look for the primary at' },
      API_ADDRESS,
    ],
    consequence: 'It follows the cluster that the token is of, or looks for its own at other addresses.',
    isDestructive: true,
  },
  {
    label: 'Disable …',
    method: 'POST',
    path: `${root}/secondary/disable`,
    consequence: 'It has no primary any more, and keeps its data.',
    isDestructive: true,
  },
]

const authorised = (act: Act, operationToken: string): Act => ({
  ...act,
  fields: [
    ...(act.fields ?? []),
    {
      ...{ name: 'dr_operation_token', label: 'Operation token', kind: 'secret', initial: operationToken },
      hint: 'made on this page, share by share',
    },
  ],
})

/**
 * Returns the actions of a cluster for one kind of replication, from its full status. All actions of a DR secondary
 * need an operation token.
 */
export const actsOf = (kind: Kind, status: Json, operationToken: string): readonly Act[] => {
  const root = `sys/replication/${kind}`
  const modeOf = (one: Kind) => textOf(partOf(status, one), 'mode')
  if (kind === 'performance' && modeOf('dr') === 'secondary') return []
  const mode = modeOf(kind)
  if (mode === 'disabled') return enableActs(root)
  if (mode === 'primary') return primaryActs(root)
  if (mode !== 'secondary') return []
  return kind === 'dr' ? secondaryActs(root).map((act) => authorised(act, operationToken)) : secondaryActs(root)
}

/** Returns the action of a primary that revokes a secondary. */
export const revokeAct = (kind: Kind, id: string): Act => ({
  label: 'Revoke …',
  method: 'POST',
  path: `sys/replication/${kind}/primary/revoke-secondary`,
  fixed: { id },
  consequence: `"${id}" gets nothing any more, and cannot come back without a new activation token.`,
  isDestructive: true,
})

const FILTER = 'sys/replication/performance/primary/paths-filter'
export const filterPath = (id: string): string => `${FILTER}/${id}`

/** Returns the actions on a filter. `filter`: the current filter; empty if there is none. */
export const filterActs = (id: string, filter: Json): readonly Act[] => [
  {
    label: 'Set the path filter …',
    method: 'POST',
    path: filterPath(id),
    fields: [
      {
        ...{ name: 'mode', label: 'Mode', kind: 'choice', choices: ['deny', 'allow'] },
        initial: textOf(filter, 'mode') || 'deny',
      },
      {
        ...{ name: 'paths', label: 'Paths of mounts and namespaces, one a line', kind: 'lines' },
        initial: listOf(filter, 'paths').join('\n'),
      },
    ],
    consequence: `What "${id}" holds of a path that it may not have is taken from it.`,
    isDestructive: true,
  },
  ...(textOf(filter, 'mode') === ''
    ? []
    : [
        {
          label: 'Remove the path filter …',
          method: 'DELETE',
          path: filterPath(id),
          consequence: `"${id}" gets everything from then on.`,
        } as const,
      ]),
]
