import { parseDurationMs } from '../../base/duration.js'
import type { Call, PathSpec } from '../../logical/backend.js'
import { demote, disablePrimary, enablePrimary, issueToken, revokeSecondary } from './operate-primary.js'
import { CLUSTER_ADDR_FIELDS, SECONDARY_ID_FIELDS, SECONDARY_TOKEN_FIELDS } from './fields.js'
import { pathsBelow } from './guard.js'
import type { PathContext } from '../roles/context.js'
import type { Kind } from '../model/types.js'

/**
 * Returns the paths `{prefix}/primary/*` of one kind. `prefix` is `replication/{kind}`, or `replication` for the older
 * paths.
 */
export const primaryPaths = (prefix: string, kind: Kind, context: PathContext): PathSpec[] => {
  const { write } = pathsBelow(`${prefix}/primary`, kind, context)
  return [
    write('enable', CLUSTER_ADDR_FIELDS, 'Make this cluster a primary.', ({ values }) =>
      enablePrimary(context, kind, values.primary_cluster_addr),
    ),
    write('demote', {}, 'Demote this primary.', () => demote(context, kind)),
    write('disable', {}, 'Disable replication on this primary.', () => disablePrimary(context, kind)),
    write('secondary-token', SECONDARY_TOKEN_FIELDS, 'Issue an activation token for a secondary.', (call) =>
      issueToken(context, kind, {
        id: call.values.id,
        ttlSeconds: ttlSecondsOf(call),
        publicKey: call.values.secondary_public_key,
        path: call.request.path,
      }),
    ),
    write('revoke-secondary', SECONDARY_ID_FIELDS, 'Revoke a secondary.', ({ values }) =>
      revokeSecondary(context, kind, values.id),
    ),
  ]
}

/**
 * Returns the TTL in seconds: from the field if it was sent, otherwise from the wrapping header, otherwise the default.
 * Returns 0 for an invalid value, which is then rejected.
 */
const ttlSecondsOf = (call: Call<typeof SECONDARY_TOKEN_FIELDS>): number => {
  const { wrap } = call.request
  if (!call.supplied('ttl') && wrap) return wrap.ttlSeconds
  return (parseDurationMs(call.values.ttl.trim()) ?? 0) / 1000
}
