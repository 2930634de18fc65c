import { type Call, definePath, type PathSpec, shown } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, commaList, duration, float, int, string } from '../../logical/fields.js'
import type { Router } from '../mounts/router.js'
import { routePath } from '../mounts/mount-entry.js'
import type { NamespaceStore } from '../namespaces/namespaces.js'
import type { LeaseQuotas } from '../quotas/lease-quotas.js'
import type { Quota, QuotaConfig, QuotaKind, QuotaTarget } from '../quotas/quota-record.js'
import type { Quotas } from '../quotas/quotas.js'

const QUOTA = {
  name: string('Name of the quota.'),
  type: string('Type of the quota. Ignored in requests.'),
  path: string('Path of a namespace, a mount, or a path below a mount. Empty for all requests.'),
  role: string('Role of the logins to which the quota applies. The path must be an auth mount with roles.'),
  inheritable: bool('If true, the quota of a namespace applies to its child namespaces.'),
}

const RATE = {
  ...QUOTA,
  rate: float('Number of requests of a client in each interval.'),
  interval: duration('Interval of the rate.', 1),
  block_interval: duration('Time for which a client that exceeds the rate is blocked.'),
}

const LEASES = { ...QUOTA, max_leases: int('Maximum number of leases.') }

const CONFIG = {
  rate_limit_exempt_paths: commaList('Paths without rate limits, in every namespace.'),
  absolute_rate_limit_exempt_paths: commaList('Paths without rate limits, with the path of their namespace.'),
  enable_rate_limit_audit_logging: bool('If true, the audit devices record rejected requests.'),
  enable_rate_limit_response_headers: bool('If true, responses have headers that describe the rate limit.'),
}

interface QuotaPathsOptions {
  readonly quotas: Quotas
  readonly leaseQuotas: Pick<LeaseQuotas, 'count'>
  readonly namespaces: Pick<NamespaceStore, 'resolve'>
  readonly router: Pick<Router, 'find'>
}

export const quotaPaths = ({ quotas, leaseQuotas, namespaces, router }: QuotaPathsOptions): PathSpec[] => {
  const targetOf = ({ values: { path, role } }: Call<typeof QUOTA>): QuotaTarget => {
    const clean = path === '' ? '' : `${path.replace(/^\/+|\/+$/g, '')}/`
    const { namespace, path: rest } = namespaces.resolve(undefined, clean)
    const target = { namespaceId: namespace.id, mountUuid: '', suffix: '', role }
    if (rest === '') {
      if (role !== '')
        throw invalid(
          `Mount path "" is not a valid auth method and therefore unsuitable for use with role-based quotas`,
        )
      return target
    }
    const route = router.find(namespace, rest)
    if (!route) throw invalid(`invalid mount path ${JSON.stringify(rest)}`)
    const suffix = route.path.replace(/\/$/, '')
    const { entry, backend } = route.mount
    if (role !== '') {
      if (suffix !== '')
        throw invalid(
          'Quotas cannot contain both a path suffix and a role. If a role is provided, path must be a valid auth mount with a concept of roles',
        )
      const at = `Mount path ${JSON.stringify(routePath(entry))}`
      if (entry.kind !== 'auth')
        throw invalid(`${at} is not a valid auth method and therefore unsuitable for use with role-based quotas`)
      if (!backend.roles) throw invalid(`${at} does not support use with role-based quotas`)
    }
    return { ...target, mountUuid: entry.uuid, suffix }
  }

  /** By default, only the quota of all requests is inheritable. */
  const quotaOf = (call: Call<typeof QUOTA>) => {
    const target = targetOf(call)
    const isGlobal = target.namespaceId === 'root' && target.mountUuid === ''
    const inheritable = call.supplied('inheritable') ? call.values.inheritable : isGlobal
    if (inheritable && target.mountUuid !== '') throw invalid('only quotas of namespaces can be inheritable')
    return { ...target, name: call.values.name, inheritable }
  }

  const list = (kind: QuotaKind): PathSpec =>
    definePath(`quotas/${kind}/?`, {}, `List the ${kind} quotas of all namespaces.`, {
      list: () => ({ data: { keys: quotas.list(kind) } }),
    })

  const remove =
    (kind: QuotaKind) =>
    async ({ values }: Call<Pick<typeof QUOTA, 'name'>>): Promise<undefined> => {
      await quotas.remove(kind, values.name)
    }

  const common = (kind: QuotaKind, quota: Quota) => ({
    inheritable: quota.inheritable,
    name: quota.name,
    path: quotas.pathOf(quota),
    role: quota.role,
    type: kind,
  })

  return [
    definePath('quotas/config', CONFIG, 'Read or write the settings of all quotas.', {
      read: () => ({ data: showConfig(quotas.config) }),
      update: async ({ values }) => {
        await quotas.configure({
          isAuditing: values.enable_rate_limit_audit_logging,
          sendsHeaders: values.enable_rate_limit_response_headers,
          exemptPaths: values.rate_limit_exempt_paths,
          absoluteExemptPaths: values.absolute_rate_limit_exempt_paths,
        })
        return undefined
      },
    }),
    list('rate-limit'),
    definePath('quotas/rate-limit/:name', RATE, 'Read, write or delete a rate limit quota.', {
      read: ({ values }) =>
        shown(quotas.find('rate-limit', values.name), (quota) => ({
          ...common('rate-limit', quota),
          block_interval: quota.blockSeconds,
          interval: quota.intervalSeconds,
          rate: quota.rate,
        })),
      update: async (call) => {
        const { rate, interval, block_interval } = call.values
        if (rate <= 0) throw invalid("'rate' is invalid")
        const quota = quotaOf(call)
        const intervalSeconds = Math.floor(interval) || 1
        await quotas.put('rate-limit', { ...quota, rate, intervalSeconds, blockSeconds: Math.floor(block_interval) })
        return undefined
      },
      delete: remove('rate-limit'),
    }),
    list('lease-count'),
    definePath('quotas/lease-count/:name', LEASES, 'Read, write or delete a lease count quota.', {
      read: async ({ values }) => {
        const quota = quotas.find('lease-count', values.name)
        if (!quota) return undefined
        const counter = await leaseQuotas.count(quota)
        return { data: { ...common('lease-count', quota), counter, max_leases: quota.maxLeases } }
      },
      update: async (call) => {
        const { max_leases: maxLeases } = call.values
        if (maxLeases <= 0) throw invalid("'max_leases' is invalid")
        await quotas.put('lease-count', { ...quotaOf(call), maxLeases })
        return undefined
      },
      delete: remove('lease-count'),
    }),
  ]
}

const showConfig = (config: QuotaConfig) => ({
  absolute_rate_limit_exempt_paths: config.absoluteExemptPaths,
  enable_rate_limit_audit_logging: config.isAuditing,
  enable_rate_limit_response_headers: config.sendsHeaders,
  rate_limit_exempt_paths: config.exemptPaths,
})
