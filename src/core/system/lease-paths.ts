import type { Clock } from '../../base/clock.js'
import { END_SHOWN_EARLIER_US, formatNanoTime } from '../../base/rfc3339.js'
import {
  type Call,
  definePath,
  definePaths,
  type Handler,
  listed,
  type PathSpec,
  shown,
} from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, duration, string } from '../../logical/fields.js'
import type { NamespaceRef, Response } from '../../logical/request.js'
import { tidyAnswer } from '../../logical/tidy.js'
import { compareKeys } from '../../storage/engine/ordered-map.js'
import type { Lease } from '../leases/lease-record.js'
import type { LeaseStore } from '../leases/leases.js'
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
  limit: string('Maximum number of leases in the list, or none. The default is 10,000.'),
}

interface LeasePathsOptions {
  readonly tokens: TokenStore
  readonly leases: LeaseStore
  readonly tidy: Pick<TokenTidy, 'begin'>
  readonly namespaces: { findById(id: string): NamespaceRef | undefined }
  readonly clock: Clock
}

type LeaseCall = Call<typeof LEASE_FIELDS>
type PrefixCall = Call<typeof PREFIX_FIELDS>
type KindCall = Call<typeof KIND_FIELDS>

/** The response to a revocation that continues in the background. */
const ACCEPTED: Response = { status: 202 }

/** The maximum number of irrevocable leases in a response, unless the request sets a limit. */
const LISTED_MAX = 10_000

/**
 * Creates the paths of sys/leases and their older names: sys/renew, sys/revoke, sys/revoke-prefix. A lease is a token
 * with a TTL, or a secret that its engine can revoke. The lease of a token has no record of its own: it is found by the
 * path that created the token.
 */
export const leasePaths = ({ tokens, leases, tidy, namespaces, clock }: LeasePathsOptions): PathSpec[] => {
  /** Finds the token or the secret of a lease. Throws LogicalError 400 for an empty ID. */
  const find = ({ request, values }: LeaseCall): { token?: TokenEntry; lease?: Lease } => {
    const leaseId = values.lease_id || values.url_lease_id
    if (leaseId === '') throw invalid('lease_id must be specified')
    const lease = leases.find(request.namespace.id, leaseId)
    if (lease) return { lease }
    const token = tokens.findStored(leaseId.slice(leaseId.lastIndexOf('/') + 1))
    const isSame = token?.namespace.id === request.namespace.id && leaseIdOf(token, token.storageId) === leaseId
    return isSame ? { token } : {}
  }

  const lookup = (call: LeaseCall): Response => {
    const { token, lease } = find(call)
    const times = lease ?? (token && timesOf(token))
    if (times?.expiresMs === undefined) throw invalid('invalid lease')
    return {
      data: {
        expire_time: formatNanoTime(times.expiresMs, END_SHOWN_EARLIER_US),
        id: times.id,
        issue_time: formatNanoTime(times.issuedMs),
        last_renewal: times.lastRenewalMs === null ? null : formatNanoTime(times.lastRenewalMs),
        path: times.id.slice(0, times.id.lastIndexOf('/')),
        renewable: times.isRenewable,
        ttl: Math.ceil((times.expiresMs - clock.now()) / 1000),
      },
    }
  }

  const renew = async (call: LeaseCall): Promise<Response> => {
    const { token, lease } = find(call)
    if (token?.expiresAtMs !== undefined) throw invalid('tokens cannot be renewed through this endpoint')
    if (!lease) throw invalid('lease not found')
    const { ttlSeconds, warnings } = await leases.renew(lease, call.values.increment)
    return {
      leaseId: lease.id,
      leaseDurationSeconds: ttlSeconds,
      renewable: lease.isRenewable,
      warnings: [...warnings],
    }
  }

  const revoke = async (call: LeaseCall): Promise<Response | undefined> => {
    const { token, lease } = find(call)
    const isSync = call.values.sync
    if (token) await tokens.revokeTree(token)
    if (lease && isSync) await leases.revoke(lease)
    if (lease && !isSync) await leases.end([lease])
    return isSync ? undefined : { ...ACCEPTED }
  }

  const revokeBelow =
    (isForced: boolean) =>
    async ({ request, values }: PrefixCall): Promise<Response | undefined> => {
      const { id } = request.namespace
      await tokens.revokeByPathPrefix(id, values.prefix)
      if (isForced || values.sync) await leases.revokeBelow(id, values.prefix, { isForced })
      else for await (const page of leases.leasesBelow(id, values.prefix)) await leases.end(page)
      return values.sync ? undefined : { ...ACCEPTED }
    }

  const list = async ({ request, values }: PrefixCall): Promise<string[]> => {
    const { id } = request.namespace
    const names = [...(await tokens.listLeases(id, values.prefix)), ...(await leases.list(id, values.prefix))]
    return [...new Set(names)].sort(compareKeys)
  }

  /** Returns the irrevocable leases of a request, by expiry. Undefined for another type, since no other type exists. */
  const irrevocable = async ({ request, values }: KindCall): Promise<Lease[] | undefined> => {
    if (values.type.toLowerCase() !== 'irrevocable') return undefined
    const { path } = request.namespace
    const isIncluded = ({ namespaceId }: Lease): boolean =>
      namespaceId === request.namespace.id ||
      (values.include_child_namespaces && namespaces.findById(namespaceId)?.path.startsWith(path) === true)
    return (await leases.irrevocable()).filter(isIncluded).sort((one, other) => one.expiresMs - other.expiresMs)
  }

  const listIrrevocable = async (call: KindCall): Promise<Response | undefined> => {
    const found = await irrevocable(call)
    if (!found) return undefined
    const limit = parseLimit(call.values.limit)
    const rows = found.slice(0, limit).map(({ id, mountAccessor, error }) => ({
      lease_id: id,
      mount_id: mountAccessor,
      error,
    }))
    const rest = found.length - rows.length
    const data = { lease_count: found.length, leases: rows }
    return rest > 0
      ? { data, warnings: [`${rest} more leases exist. Set "limit" to a larger number or to "none".`] }
      : { data }
  }

  const countIrrevocable = async (call: KindCall): Promise<Response | undefined> =>
    shown(await irrevocable(call), (found) => {
      const counts: Record<string, number> = {}
      for (const { mountAccessor } of found) counts[mountAccessor] = (counts[mountAccessor] ?? 0) + 1
      return { lease_count: found.length, counts }
    })

  /** Defines an endpoint under its current and its older name, with the lease ID in the body or in the path. */
  const aliased = (name: string, summary: string, update: Handler<typeof LEASE_FIELDS>): PathSpec[] =>
    [`leases/${name}`, name]
      .flatMap((path) => [path, `${path}/*url_lease_id`])
      .map((pattern) => definePath(pattern, LEASE_FIELDS, summary, { update }))

  const below = (name: string, summary: string, isForced: boolean): PathSpec[] =>
    definePaths([`leases/${name}/*prefix`, `${name}/*prefix`], PREFIX_FIELDS, summary, {
      update: revokeBelow(isForced),
    })

  return [
    definePath('leases', KIND_FIELDS, 'List the leases that could not be revoked.', { read: listIrrevocable }),
    definePath('leases/count', KIND_FIELDS, 'Count the leases that could not be revoked.', { read: countIrrevocable }),
    definePath('leases/tidy', {}, 'Remove the tokens and leases that are no longer valid.', {
      update: () => tidyAnswer(tidy.begin()),
    }),
    definePath('leases/lookup/?', { ...LEASE_FIELDS, ...PREFIX_FIELDS }, 'Look up a lease, or list lease prefixes.', {
      update: lookup,
      list: (call) => listed(list(call)),
    }),
    definePath('leases/lookup/*prefix', PREFIX_FIELDS, 'List the leases of a path.', {
      list: (call) => listed(list(call)),
    }),
    ...aliased('renew', 'Renew a lease. Renew tokens at auth/token.', renew),
    ...aliased('revoke', 'Revoke a lease, and its token or its secret.', revoke),
    ...below('revoke-prefix', 'Revoke all leases below a path.', false),
    ...below('revoke-force', 'Revoke all leases below a path, and ignore errors of secrets engines.', true),
  ]
}

/** Returns the properties of a token's lease. */
const timesOf = (token: TokenEntry) => ({
  id: leaseIdOf(token, token.storageId),
  issuedMs: token.createdAtMs,
  expiresMs: token.expiresAtMs,
  lastRenewalMs: token.lastRenewalMs ?? null,
  isRenewable: token.isRenewable,
})

/** Parses the limit of a list. Throws LogicalError 400 if it is neither a positive number nor `none`. */
const parseLimit = (text: string): number => {
  if (text === '') return LISTED_MAX
  if (text.toLowerCase() === 'none') return Number.POSITIVE_INFINITY
  const limit = Number(text)
  if (!Number.isInteger(limit) || limit < 1) throw invalid(`invalid "limit" value: ${JSON.stringify(text)}`)
  return limit
}
