import { parseDurationMs } from '../../base/duration.js'
import type { Call, PathSpec } from '../../logical/backend.js'
import { demote, disablePrimary, enablePrimary, issueToken, revokeSecondary } from './operate-primary.js'
import { CLUSTER_ADDR_FIELDS, SECONDARY_ID_FIELDS, SECONDARY_TOKEN_FIELDS } from './fields.js'
import { write } from './guard.js'
import type { PathContext } from '../roles/context.js'
import type { Kind } from '../model/types.js'

/** Returns `.../primary/*` of one kind below `prefix`, either the kind's prefix or the older one without a kind. */
export const primaryPaths = (prefix: string, kind: Kind, context: PathContext): PathSpec[] => [
  write(
    context,
    { pattern: `${prefix}/primary/enable`, kind, fields: CLUSTER_ADDR_FIELDS, summary: 'Make this cluster a primary.' },
    (current, call) => enablePrimary(current, kind, call.values.primary_cluster_addr),
  ),
  write(
    context,
    {
      pattern: `${prefix}/primary/demote`,
      kind,
      fields: {},
      summary: 'Demote this primary.',
    },
    (current) => demote(current, kind),
  ),
  write(
    context,
    { pattern: `${prefix}/primary/disable`, kind, fields: {}, summary: 'Disable replication on this primary.' },
    (current) => disablePrimary(current, kind),
  ),
  write(
    context,
    {
      pattern: `${prefix}/primary/secondary-token`,
      kind,
      fields: SECONDARY_TOKEN_FIELDS,
      summary: 'Issue an activation token for a secondary.',
    },
    (current, call) =>
      issueToken(current, kind, {
        id: call.values.id,
        ttlSeconds: ttlSecondsOf(call),
        publicKey: call.values.secondary_public_key,
        path: call.request.path,
      }),
  ),
  write(
    context,
    {
      pattern: `${prefix}/primary/revoke-secondary`,
      kind,
      fields: SECONDARY_ID_FIELDS,
      summary: 'Revoke a secondary.',
    },
    (current, call) => revokeSecondary(current, kind, call.values.id),
  ),
]

/**
 * Returns the TTL from the field, then from the wrapping header, then the default. Returns 0, which is rejected, for an
 * invalid value.
 */
const ttlSecondsOf = (call: Call<typeof SECONDARY_TOKEN_FIELDS>): number => {
  const { wrap } = call.request
  if (!call.supplied('ttl') && wrap) return wrap.ttlSeconds
  return (parseDurationMs(call.values.ttl.trim()) ?? 0) / 1000
}
