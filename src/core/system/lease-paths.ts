import type { Clock } from '../../base/clock.js'
import { END_SHOWN_EARLIER_US, formatNanoTime } from '../../base/rfc3339.js'
import { type Call, definePath, definePaths, type Handler, listed, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, duration, string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import { tidyAnswer } from '../../logical/tidy.js'
import { leaseIdOf, type TokenEntry } from '../tokens/token-record.js'
import type { TokenTidy } from '../tokens/token-tidy.js'
import type { TokenStore } from '../tokens/tokens.js'

const LEASE_FIELDS = {
  lease_id: string('ID of the lease.'),
  url_lease_id: string('The lease ID, if it is part of the path.'),
  increment: duration('Requested extension of the lease.'),
  sync: bool('If false, the status code is 202 instead of 204.', true),
}

const PREFIX_FIELDS = {
  prefix: string('Path prefix of the leases.'),
  sync: bool('If false, the status code is 202 instead of 204.', true),
}

const KIND_FIELDS = {
  type: string('Type of the leases: irrevocable.', '', { isRequired: true }),
  include_child_namespaces: bool('If true, includes the leases of child namespaces.'),
}

interface LeasePathsOptions {
  readonly tokens: TokenStore
  readonly tidy: Pick<TokenTidy, 'begin'>
  readonly clock: Clock
}

type LeaseCall = Call<typeof LEASE_FIELDS>
type PrefixCall = Call<typeof PREFIX_FIELDS>

/** The response to a request with `sync` set to false. The revocation is complete nevertheless. */
const ACCEPTED: Response = { status: 202 }

/**
 * Creates the paths of sys/leases and their older names: sys/renew, sys/revoke, sys/revoke-prefix. In Understudy, only
 * tokens have leases. A lease is a token with a TTL, found by the path that created the token, and has no record of its
 * own.
 */
export const leasePaths = ({ tokens, tidy, clock }: LeasePathsOptions): PathSpec[] => {
  /**
   * Finds the token of a lease by `<path that created it>/<storage ID of the token>`. Throws LogicalError 400 for an
   * empty ID.
   */
  const find = ({ request, values }: LeaseCall): TokenEntry | undefined => {
    const leaseId = values.lease_id || values.url_lease_id
    if (leaseId === '') throw invalid('lease_id must be specified')
    const token = tokens.findStored(leaseId.slice(leaseId.lastIndexOf('/') + 1))
    const isSame = token?.namespace.id === request.namespace.id && leaseIdOf(token, token.storageId) === leaseId
    return isSame ? token : undefined
  }

  const lookup = (call: LeaseCall): Response => {
    const token = find(call)
    if (token?.expiresAtMs === undefined) throw invalid('invalid lease')
    const id = leaseIdOf(token, token.storageId)
    return {
      data: {
        expire_time: formatNanoTime(token.expiresAtMs, END_SHOWN_EARLIER_US),
        id,
        issue_time: formatNanoTime(token.createdAtMs),
        last_renewal: token.lastRenewalMs === undefined ? null : formatNanoTime(token.lastRenewalMs),
        path: id.slice(0, id.lastIndexOf('/')),
        renewable: token.isRenewable,
        ttl: Math.ceil((token.expiresAtMs - clock.now()) / 1000),
      },
    }
  }

  const renew = (call: LeaseCall): Response => {
    if (find(call)?.expiresAtMs === undefined) throw invalid('lease not found')
    throw invalid('tokens cannot be renewed through this endpoint')
  }

  const revoke = async (call: LeaseCall): Promise<Response | undefined> => {
    const token = find(call)
    if (token) await tokens.revokeTree(token)
    return call.values.sync ? undefined : { ...ACCEPTED }
  }

  const list = ({ request, values }: PrefixCall) => listed(tokens.listLeases(request.namespace.id, values.prefix))

  /** Defines an endpoint under its current and its older name, with the lease ID in the body or in the path. */
  const aliased = (name: string, summary: string, update: Handler<typeof LEASE_FIELDS>): PathSpec[] =>
    [`leases/${name}`, name]
      .flatMap((path) => [path, `${path}/*url_lease_id`])
      .map((pattern) => definePath(pattern, LEASE_FIELDS, summary, { update }))

  /** No lease is irrevocable: to revoke a lease, the server only deletes its token. Other types do not exist. */
  const irrevocable = (none: Record<string, unknown>) => ({
    read: ({ values }: Call<typeof KIND_FIELDS>): Response | undefined =>
      values.type.toLowerCase() === 'irrevocable' ? { data: { lease_count: 0, ...none } } : undefined,
  })

  return [
    definePath('leases', KIND_FIELDS, 'List the leases that could not be revoked.', irrevocable({ leases: [] })),
    definePath('leases/count', KIND_FIELDS, 'Count the leases that could not be revoked.', irrevocable({ counts: {} })),
    definePath('leases/tidy', {}, 'Remove the tokens and leases that are no longer valid.', {
      update: () => tidyAnswer(tidy.begin()),
    }),
    definePath('leases/lookup/?', { ...LEASE_FIELDS, ...PREFIX_FIELDS }, 'Look up a lease, or list lease prefixes.', {
      update: lookup,
      list,
    }),
    definePath('leases/lookup/*prefix', PREFIX_FIELDS, 'List the leases of a path.', { list }),
    ...aliased('renew', 'Renew a lease. Renew tokens at auth/token.', renew),
    ...aliased('revoke', 'Revoke a lease and its token.', revoke),
    // The revocation of a lease calls no other system, so there are no errors to ignore.
    ...['revoke-prefix', 'revoke-force'].flatMap((name) =>
      definePaths([`leases/${name}/*prefix`, `${name}/*prefix`], PREFIX_FIELDS, 'Revoke all leases below a path.', {
        update: async ({ request, values }) => {
          await tokens.revokeByPathPrefix(request.namespace.id, values.prefix)
          return values.sync ? undefined : { ...ACCEPTED }
        },
      }),
    ),
  ]
}
