import type { Call, PathSpec } from '../../logical/backend.js'
import type { Request } from '../../logical/request.js'
import {
  disableSecondary,
  enableSecondary,
  generatePublicKey,
  promote,
  type UpdateFields,
  updatePrimary,
} from './operate-secondary.js'
import { checkTrees, recover, reindex } from './operate-maintenance.js'
import {
  JOIN_FIELDS,
  OPERATION_TOKEN_FIELDS,
  PROMOTE_FIELDS,
  RECOVER_FIELDS,
  REINDEX_FIELDS,
  toJoinFields,
  UPDATE_PRIMARY_FIELDS,
} from './fields.js'
import { isDrSecondary, isOperationAllowed, read, requireDrSecondary, write, writeWithToken } from './guard.js'
import type { PathContext } from '../roles/context.js'
import type { Kind } from '../model/types.js'

const SUMMARIES = {
  enable: 'Wipe this cluster and make it a secondary.',
  promote: 'Make this secondary the primary of its set.',
  disable: 'Disable replication on this secondary.',
  update: 'Make this secondary follow another primary.',
  publicKey: 'Generate a key pair for an activation token that is encrypted for this cluster.',
} as const

type UpdateTable = typeof UPDATE_PRIMARY_FIELDS

/**
 * Returns the fields. A blank token forgets the primary. A null token means no token, because some clients send every
 * field.
 */
const toUpdateFields = (call: Call<UpdateTable>): UpdateFields => ({
  ...toJoinFields(call.values),
  token: call.supplied('token') && call.request.data.token !== null ? call.values.token : undefined,
  addresses: call.values.update_primary_addrs.filter((address) => address !== ''),
})

const enablePath = (prefix: string, kind: Kind, context: PathContext): PathSpec =>
  write(
    context,
    { pattern: `${prefix}/secondary/enable`, kind, fields: JOIN_FIELDS, summary: SUMMARIES.enable },
    (current, call) => enableSecondary(current, kind, toJoinFields(call.values)),
  )

/** Returns `.../secondary/*` of performance replication below `prefix`. All paths need a client token. */
export const performanceSecondaryPaths = (prefix: string, context: PathContext): PathSpec[] => [
  enablePath(prefix, 'performance', context),
  write(
    context,
    { pattern: `${prefix}/secondary/promote`, kind: 'performance', fields: PROMOTE_FIELDS, summary: SUMMARIES.promote },
    (current, { values }) =>
      promote(current, 'performance', { primaryClusterAddr: values.primary_cluster_addr, force: values.force }),
  ),
  write(
    context,
    { pattern: `${prefix}/secondary/disable`, kind: 'performance', fields: {}, summary: SUMMARIES.disable },
    (current) => disableSecondary(current, 'performance'),
  ),
  write(
    context,
    {
      pattern: `${prefix}/secondary/update-primary`,
      kind: 'performance',
      fields: UPDATE_PRIMARY_FIELDS,
      summary: SUMMARIES.update,
    },
    (current, call) => updatePrimary(current, 'performance', toUpdateFields(call)),
  ),
]

export const performancePublicKeyPath = (context: PathContext): PathSpec =>
  write(
    context,
    {
      pattern: 'replication/performance/secondary/generate-public-key',
      kind: 'performance',
      fields: {},
      summary: SUMMARIES.publicKey,
    },
    (current) => generatePublicKey(current, 'performance'),
  )

const requireEitherToken = (context: PathContext, request: Request, token: string): void => {
  if (token === '' || !isOperationAllowed(context, token, request)) context.services.authorize(request)
}

/** Returns `dr/secondary/*`. Most paths accept an operation token. */
export const drSecondaryPaths = (context: PathContext): PathSpec[] => [
  enablePath('replication/dr', 'dr', context),
  write(
    context,
    {
      pattern: 'replication/dr/secondary/generate-public-key',
      kind: 'dr',
      fields: OPERATION_TOKEN_FIELDS,
      summary: SUMMARIES.publicKey,
    },
    (current, { request, values }) => {
      // On other clusters, the pipeline has already authorized the client token.
      if (isDrSecondary(current) || !request.token) requireEitherToken(current, request, values.dr_operation_token)
      return generatePublicKey(current, 'dr')
    },
  ),
  writeWithToken(
    context,
    { operation: 'promote', fields: PROMOTE_FIELDS, summary: SUMMARIES.promote },
    (current, { values }) =>
      promote(current, 'dr', { primaryClusterAddr: values.primary_cluster_addr, force: values.force }),
  ),
  writeWithToken(context, { operation: 'disable', fields: {}, summary: SUMMARIES.disable }, (current) =>
    disableSecondary(current, 'dr'),
  ),
  writeWithToken(
    context,
    { operation: 'update-primary', fields: UPDATE_PRIMARY_FIELDS, summary: SUMMARIES.update },
    (current, call) => updatePrimary(current, 'dr', toUpdateFields(call)),
  ),
  writeWithToken(
    context,
    { operation: 'reindex', fields: REINDEX_FIELDS, summary: 'Rebuild the Merkle trees.' },
    (current, { values }) => reindex(current, { diff: values.diff, force: values.force, skipFlush: values.skip_flush }),
  ),
  writeWithToken(
    context,
    { operation: 'recover', fields: RECOVER_FIELDS, summary: 'Restart replication from its stored state.' },
    (current, { values }) => recover(current, { force: values.force }),
  ),
  writeWithToken(
    context,
    { operation: 'merkle-check', fields: {}, summary: 'Compare the Merkle trees with the data.' },
    (current) => checkTrees(current),
  ),
  writeWithToken(
    context,
    { operation: 'operation-token/delete', fields: {}, summary: 'Revoke the operation token.' },
    async (current) => {
      await current.operationTokens.delete()
      return undefined
    },
  ),
  read(
    context,
    {
      pattern: 'replication/dr/secondary/license/status',
      kind: 'dr',
      fields: {},
      summary: 'Read the license status on a DR secondary.',
    },
    (current) => {
      requireDrSecondary(current)
      return { data: current.services.licenseStatus() }
    },
  ),
]
