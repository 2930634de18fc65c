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
import { recover, reindex } from './operate-maintenance.js'
import {
  OPERATION_TOKEN_FIELDS,
  PROMOTE_FIELDS,
  RECOVER_FIELDS,
  REINDEX_FIELDS,
  UPDATE_PRIMARY_FIELDS,
} from './fields.js'
import { JOIN_FIELDS } from '../roles/join.js'
import { isDrSecondary, isOperationAllowed, pathsBelow, requireDrSecondary } from './guard.js'
import type { PathContext } from '../roles/context.js'
import type { Kind } from '../model/types.js'

const PUBLIC_KEY_SUMMARY = 'Generate a key pair for an activation token that is encrypted for this cluster.'

/**
 * Returns the fields of an update. An empty token removes the primary. A null token counts as not sent, because some
 * clients send every field.
 */
const toUpdateFields = (call: Call<typeof UPDATE_PRIMARY_FIELDS>): UpdateFields => ({
  ...call.values,
  token: call.supplied('token') && call.request.data.token !== null ? call.values.token : undefined,
  addresses: call.values.update_primary_addrs.filter((address) => address !== ''),
})

/** Returns the paths of `{prefix}/secondary/*` that both kinds have. Only DR secondaries accept an operation token. */
export const secondaryPaths = (prefix: string, kind: Kind, context: PathContext): PathSpec[] => {
  const { write, writeWithToken } = pathsBelow(`${prefix}/secondary`, kind, context)
  const define = kind === 'dr' ? writeWithToken : write
  return [
    write('enable', JOIN_FIELDS, 'Wipe this cluster and make it a secondary.', ({ values }) =>
      enableSecondary(context, kind, values),
    ),
    define('promote', PROMOTE_FIELDS, 'Make this secondary the primary of its set.', ({ values }) =>
      promote(context, kind, { primaryClusterAddr: values.primary_cluster_addr, force: values.force }),
    ),
    define('disable', {}, 'Disable replication on this secondary.', () => disableSecondary(context, kind)),
    define('update-primary', UPDATE_PRIMARY_FIELDS, 'Make this secondary follow another primary.', (call) =>
      updatePrimary(context, kind, toUpdateFields(call)),
    ),
  ]
}

export const performancePublicKeyPath = (context: PathContext): PathSpec =>
  pathsBelow('replication/performance/secondary', 'performance', context).write(
    'generate-public-key',
    {},
    PUBLIC_KEY_SUMMARY,
    () => generatePublicKey(context, 'performance'),
  )

const requireEitherToken = (context: PathContext, request: Request, token: string): void => {
  if (token === '' || !isOperationAllowed(context, token, request)) context.services.authorize(request)
}

/** Returns the paths of `replication/dr/secondary/*`. Most of them accept an operation token. */
export const drSecondaryPaths = (context: PathContext): PathSpec[] => {
  const { read, write, writeWithToken } = pathsBelow('replication/dr/secondary', 'dr', context)
  return [
    ...secondaryPaths('replication/dr', 'dr', context),
    write('generate-public-key', OPERATION_TOKEN_FIELDS, PUBLIC_KEY_SUMMARY, ({ request, values }) => {
      // On other clusters, the pipeline has already authorized the client token.
      if (isDrSecondary(context) || !request.token) requireEitherToken(context, request, values.dr_operation_token)
      return generatePublicKey(context, 'dr')
    }),
    writeWithToken('reindex', REINDEX_FIELDS, 'Rebuild the Merkle trees.', ({ values }) =>
      reindex(context, { diff: values.diff, force: values.force, skipFlush: values.skip_flush }),
    ),
    writeWithToken('recover', RECOVER_FIELDS, 'Restart replication from its stored state.', ({ values }) =>
      recover(context, { force: values.force }),
    ),
    writeWithToken('merkle-check', {}, 'Compare the Merkle trees with the data.', () => context.maintenance.check()),
    writeWithToken('operation-token/delete', {}, 'Revoke the operation token.', async () => {
      await context.operationTokens.delete()
      return undefined
    }),
    read('license/status', {}, 'Read the license status on a DR secondary.', () => {
      requireDrSecondary(context)
      return { data: context.services.licenseStatus() }
    }),
  ]
}
