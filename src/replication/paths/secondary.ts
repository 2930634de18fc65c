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
import type { PathContext } from '../context.js'
import type { Kind } from '../types.js'

const SUMMARIES = {
  enable: 'Wipe this cluster and make it a secondary.',
  promote: 'Make this secondary the primary of its set.',
  disable: 'End replication on this secondary.',
  update: 'Have this secondary follow another primary.',
  publicKey: 'Make a key pair for an activation token that is encrypted for this cluster.',
} as const

type UpdateTable = typeof UPDATE_PRIMARY_FIELDS

/** A blank token forgets the primary; a null is no token, as clients send it that fill in every field. */
const toUpdateFields = (call: Call<UpdateTable>): UpdateFields => ({
  ...toJoinFields(call.values),
  token: call.supplied('token') && call.request.data.token !== null ? call.values.token : undefined,
  addresses: call.values.update_primary_addrs.filter((address) => address !== ''),
})

const enablePath = (prefix: string, kind: Kind, context: PathContext): PathSpec =>
  write(`${prefix}/secondary/enable`, kind, context, JOIN_FIELDS, SUMMARIES.enable, (current, call) =>
    enableSecondary(current, kind, toJoinFields(call.values)),
  )

/** `.../secondary/*` of performance replication below `prefix`; all of them need a client token. */
export const performanceSecondaryPaths = (prefix: string, context: PathContext): PathSpec[] => [
  enablePath(prefix, 'performance', context),
  write(
    `${prefix}/secondary/promote`,
    'performance',
    context,
    PROMOTE_FIELDS,
    SUMMARIES.promote,
    (current, { values }) =>
      promote(current, 'performance', { primaryClusterAddr: values.primary_cluster_addr, force: values.force }),
  ),
  write(`${prefix}/secondary/disable`, 'performance', context, {}, SUMMARIES.disable, (current) =>
    disableSecondary(current, 'performance'),
  ),
  write(
    `${prefix}/secondary/update-primary`,
    'performance',
    context,
    UPDATE_PRIMARY_FIELDS,
    SUMMARIES.update,
    (current, call) => updatePrimary(current, 'performance', toUpdateFields(call)),
  ),
]

export const performancePublicKeyPath = (context: PathContext): PathSpec =>
  write(
    'replication/performance/secondary/generate-public-key',
    'performance',
    context,
    {},
    SUMMARIES.publicKey,
    (current) => generatePublicKey(current, 'performance'),
  )

const requireEitherToken = (context: PathContext, request: Request, token: string): void => {
  if (token === '' || !isOperationAllowed(context, token, request)) context.services.authorize(request)
}

/** `dr/secondary/*`: most of it is authorised by an operation token. */
export const drSecondaryPaths = (context: PathContext): PathSpec[] => [
  enablePath('replication/dr', 'dr', context),
  write(
    'replication/dr/secondary/generate-public-key',
    'dr',
    context,
    OPERATION_TOKEN_FIELDS,
    SUMMARIES.publicKey,
    (current, { request, values }) => {
      // Elsewhere the pipeline has judged the client token, as on any other path.
      if (isDrSecondary(current) || !request.token) requireEitherToken(current, request, values.dr_operation_token)
      return generatePublicKey(current, 'dr')
    },
  ),
  writeWithToken('promote', context, PROMOTE_FIELDS, SUMMARIES.promote, (current, { values }) =>
    promote(current, 'dr', { primaryClusterAddr: values.primary_cluster_addr, force: values.force }),
  ),
  writeWithToken('disable', context, {}, SUMMARIES.disable, (current) => disableSecondary(current, 'dr')),
  writeWithToken('update-primary', context, UPDATE_PRIMARY_FIELDS, SUMMARIES.update, (current, call) =>
    updatePrimary(current, 'dr', toUpdateFields(call)),
  ),
  writeWithToken('reindex', context, REINDEX_FIELDS, 'Rebuild the merkle trees.', (current, { values }) =>
    reindex(current, { diff: values.diff, force: values.force, skipFlush: values.skip_flush }),
  ),
  writeWithToken(
    'recover',
    context,
    RECOVER_FIELDS,
    'Restart replication from its stored state.',
    (current, { values }) => recover(current, { force: values.force }),
  ),
  writeWithToken('merkle-check', context, {}, 'Compare the merkle trees with the data.', (current) =>
    checkTrees(current),
  ),
  writeWithToken('operation-token/delete', context, {}, 'Revoke the operation token.', async (current) => {
    await current.operationTokens.delete()
    return undefined
  }),
  read('replication/dr/secondary/license/status', 'dr', context, {}, 'The licence, on a DR secondary.', (current) => {
    requireDrSecondary(current)
    return { data: current.services.licenseStatus() }
  }),
]
