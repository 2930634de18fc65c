import type { Clock } from '../../base/clock.js'
import { END_SHOWN_EARLIER_US, formatNanoTime } from '../../base/rfc3339.js'
import { type Call, definePath, type Handler, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, duration, string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import type { LeaseStore } from '../tokens/leases.js'

const LEASE_FIELDS = {
  lease_id: string('The lease.'),
  url_lease_id: string('The lease ID, if it is part of the path.'),
  increment: duration('Requested extension of the lease.'),
  sync: bool('If false, the server responds before the lease is revoked.', true),
}

const PREFIX_FIELDS = {
  prefix: string('Path prefix of the leases.'),
  sync: bool('If false, the server responds before the leases are revoked.', true),
}

type LeaseCall = Call<typeof LEASE_FIELDS>
type PrefixCall = Call<typeof PREFIX_FIELDS>

/** The response to an asynchronous request: without a body, although the revocation is already complete. */
const ACCEPTED: Response = { status: 202 }

/** Creates the paths of sys/leases and their older names: sys/renew, sys/revoke, sys/revoke-prefix. */
export const leasePaths = (deps: { readonly leases: LeaseStore; readonly clock: Clock }): PathSpec[] => {
  const { leases, clock } = deps

  const lookup = ({ request, values }: LeaseCall): Response => {
    const lease = leases.find(request.namespace, named(values))
    if (!lease) throw invalid('invalid lease')
    return {
      data: {
        expire_time: formatNanoTime(lease.expiresAtMs, END_SHOWN_EARLIER_US),
        id: lease.id,
        issue_time: formatNanoTime(lease.issuedMs),
        last_renewal: lease.lastRenewalMs === undefined ? null : formatNanoTime(lease.lastRenewalMs),
        path: lease.path,
        renewable: lease.isRenewable,
        ttl: Math.ceil((lease.expiresAtMs - clock.now()) / 1000),
      },
    }
  }

  const renew = ({ request, values }: LeaseCall): Response => {
    if (!leases.find(request.namespace, named(values))) throw invalid('lease not found')
    throw invalid('tokens cannot be renewed through this endpoint')
  }

  const revoke = async ({ request, values }: LeaseCall): Promise<Response | undefined> => {
    await leases.revoke(request.namespace, named(values))
    return values.sync ? undefined : { ...ACCEPTED }
  }

  const revokePrefix = async ({ request, values }: PrefixCall): Promise<Response | undefined> => {
    await leases.revokePrefix(request.namespace, values.prefix)
    return values.sync ? undefined : { ...ACCEPTED }
  }

  const list = async ({ request, values }: PrefixCall): Promise<Response | undefined> => {
    const keys = await leases.list(request.namespace, values.prefix)
    return keys.length === 0 ? undefined : { data: { keys } }
  }

  const write = (pattern: string, summary: string, update: Handler<typeof LEASE_FIELDS>): PathSpec =>
    definePath(pattern, LEASE_FIELDS, summary, { update })
  /** Defines an endpoint under its current and its older name, with the lease ID in the body or in the path. */
  const aliased = (name: string, summary: string, update: Handler<typeof LEASE_FIELDS>): PathSpec[] =>
    [`leases/${name}`, name].flatMap((path) => [
      write(path, summary, update),
      write(`${path}/*url_lease_id`, summary, update),
    ])
  return [
    definePath('leases/lookup/?', { ...LEASE_FIELDS, ...PREFIX_FIELDS }, 'Look up a lease, or list lease prefixes.', {
      update: lookup,
      list,
    }),
    definePath('leases/lookup/*prefix', PREFIX_FIELDS, 'List the leases of a path.', { list }),
    ...aliased('renew', 'Renew a lease. Renew tokens at auth/token.', renew),
    ...aliased('revoke', 'Revoke a lease and its token.', revoke),
    ...['leases/revoke-prefix/*prefix', 'revoke-prefix/*prefix'].map((pattern) =>
      definePath(pattern, PREFIX_FIELDS, 'Revoke all leases below a path.', { update: revokePrefix }),
    ),
  ]
}

const named = (values: LeaseCall['values']): string => {
  const leaseId = values.lease_id || values.url_lease_id
  if (leaseId === '') throw invalid('lease_id must be specified')
  return leaseId
}
