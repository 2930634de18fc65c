import type { Clock } from '../../base/clock.js'
import { type Call, definePath, listed, type PathSpec } from '../../logical/backend.js'
import type { Request, Response } from '../../logical/request.js'
import type { TokenAuthority } from './authority.js'
import type { TokenInfo } from '../../logical/token-request.js'
import {
  ACCESSOR_FIELD,
  aclPath,
  badToken,
  findByAccessor,
  findToken,
  INCREMENT_FIELD,
  namedToken,
  ownToken,
  requireByAccessor,
  TOKEN_FIELD,
} from './finder.js'
import { wholeSeconds } from '../../base/duration.js'
import { END_SHOWN_EARLIER_US, formatNanoTime } from '../../base/rfc3339.js'
import { invalid } from '../../logical/errors.js'

export const lookupPaths = (authority: TokenAuthority, clock: Clock): PathSpec[] => {
  const show = (token: TokenInfo, id: string) =>
    lookupData(token, id, { nowMs: clock.now(), identityPolicies: authority.identityPoliciesOf(token) })
  const lookupSelf = ({ request }: { readonly request: Request }): Response => ({
    data: show(ownToken(authority, request), request.clientToken ?? ''),
  })
  const lookup = (call: Call<typeof TOKEN_FIELD>): Response => {
    const { request, values } = call
    if (values.token === '') return lookupSelf(call)
    const token = findToken(authority, request, values.token)
    if (!token) throw badToken()
    return { data: show(token, values.token) }
  }
  return [
    definePath('lookup-self', {}, 'Look up the token of the request.', { read: lookupSelf, update: lookupSelf }),
    definePath('lookup', TOKEN_FIELD, 'Look up a token.', { read: lookup, update: lookup }),
    definePath('lookup-accessor', ACCESSOR_FIELD, 'Look up a token by its accessor, without the token itself.', {
      update: (call) => ({ data: show(requireByAccessor(authority, call), '') }),
    }),
    definePath('accessors/?', {}, 'List the accessors of all service tokens.', {
      list: ({ request }) => listed(authority.listAccessors(request.namespace.id)),
    }),
  ]
}

/** Returns the `data` of a lookup. `id` is the presented token, or empty for a lookup by accessor. */
const lookupData = (
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
    ...(identityPolicies.length > 0 ? { external_namespace_policies: {}, identity_policies: identityPolicies } : {}),
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

export const renewPaths = (authority: TokenAuthority): PathSpec[] => {
  const renew = async (
    token: TokenInfo,
    presented: string,
    { request, values }: Pick<Call<typeof INCREMENT_FIELD>, 'request' | 'values'>,
  ): Promise<Response> => {
    const { auth, warnings } = await authority.renew(token, { incrementSeconds: values.increment, presented, request })
    return { auth, warnings }
  }
  return [
    definePath('renew-self', INCREMENT_FIELD, 'Renew the token of the request.', {
      update: (call) => renew(ownToken(authority, call.request), call.request.clientToken ?? '', call),
    }),
    definePath('renew', { ...TOKEN_FIELD, ...INCREMENT_FIELD }, 'Renew a token.', {
      update: (call) => {
        const presented = namedToken(call)
        const token = findToken(authority, call.request, presented)
        if (!token) throw invalid('token not found')
        return renew(token, presented, call)
      },
    }),
    definePath('renew-accessor', { ...ACCESSOR_FIELD, ...INCREMENT_FIELD }, 'Renew a token by its accessor.', {
      update: (call) => renew(requireByAccessor(authority, call), '', call),
    }),
  ]
}

/** Creates the revocation endpoints of auth/token, with or without child tokens and leases. */
export const revokePaths = (authority: TokenAuthority): PathSpec[] => {
  const revoke = async (token: TokenInfo | undefined): Promise<undefined> => {
    if (!token) return
    refuseBatch(token)
    await authority.revokeTree(token)
  }
  const revokeOrphan = async (call: Call<typeof TOKEN_FIELD>): Promise<undefined> => {
    const presented = namedToken(call)
    const self = ownToken(authority, call.request)
    if (!authority.hasSudo(self, aclPath(call.request, self))) {
      throw invalid('root or sudo privileges required to revoke and orphan')
    }
    const token = findToken(authority, call.request, presented)
    if (!token) throw invalid('token to revoke not found')
    refuseBatch(token)
    await authority.revokeAndOrphan(token)
  }
  return [
    definePath('revoke-self', {}, 'Revoke the token of the request and all its children.', {
      update: ({ request }) => revoke(ownToken(authority, request)),
    }),
    definePath('revoke', TOKEN_FIELD, 'Revoke a token and all its children.', {
      update: (call) => revoke(findToken(authority, call.request, namedToken(call))),
    }),
    definePath('revoke-orphan', TOKEN_FIELD, 'Revoke a token; its children become orphans.', { update: revokeOrphan }),
    definePath('revoke-accessor', ACCESSOR_FIELD, 'Revoke a token and all its children by its accessor.', {
      update: async (call) => {
        const token = findByAccessor(authority, call)
        if (!token) return { warnings: ['No token found with this accessor'] }
        return revoke(token)
      },
    }),
  ]
}

const refuseBatch = (token: TokenInfo): void => {
  if (token.type === 'batch') throw invalid('batch tokens cannot be revoked')
}
