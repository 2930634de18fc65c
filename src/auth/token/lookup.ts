import { wholeSeconds } from '../../base/duration.js'
import { END_SHOWN_EARLIER_US, formatNanoTime } from '../../base/rfc3339.js'
import type { TokenInfo } from './authority.js'

/** `data` of a lookup. `id` is what was presented, or empty where the token was found by its accessor. */
export const lookupData = (
  token: TokenInfo,
  id: string,
  { nowMs, identityPolicies }: { readonly nowMs: number; readonly identityPolicies: readonly string[] },
): Record<string, unknown> => {
  const { expiresAtMs, lastRenewalMs } = token
  const isEndless = expiresAtMs === undefined
  return {
    accessor: token.accessor,
    ...(token.boundCidrs.length > 0 ? { bound_cidrs: token.boundCidrs } : {}),
    creation_time: Math.floor(token.createdAtMs / 1000),
    creation_ttl: wholeSeconds(token.ttlSeconds),
    display_name: token.displayName,
    entity_id: token.entityId,
    expire_time: isEndless ? null : formatNanoTime(expiresAtMs, END_SHOWN_EARLIER_US),
    explicit_max_ttl: wholeSeconds(token.explicitMaxTtlSeconds),
    id,
    ...(identityPolicies.length > 0 ? { identity_policies: identityPolicies } : {}),
    ...(isEndless ? {} : { issue_time: formatNanoTime(token.createdAtMs) }),
    ...(lastRenewalMs === undefined
      ? {}
      : { last_renewal: formatNanoTime(lastRenewalMs), last_renewal_time: Math.floor(lastRenewalMs / 1000) }),
    meta: token.meta,
    ...(token.namespace.path === '' ? {} : { namespace_path: token.namespace.path }),
    num_uses: token.numUses,
    orphan: token.isOrphan,
    path: token.path,
    ...(token.periodSeconds > 0 ? { period: wholeSeconds(token.periodSeconds) } : {}),
    policies: token.policies,
    renewable: token.isRenewable,
    ...(token.role === '' ? {} : { role: token.role }),
    ttl: isEndless ? 0 : Math.max(0, Math.ceil((expiresAtMs - nowMs) / 1000)),
    type: token.type,
  }
}
