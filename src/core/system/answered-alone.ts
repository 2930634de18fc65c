import { pprofPaths } from './pprof-paths.js'
import type { PathRules } from '../../logical/path-rules.js'
import { isWrite, type Operation } from '../../logical/request.js'

/**
 * The `sys/` paths whose reads a performance standby answers itself: they concern stored data or the standby. All other
 * reads concern the state of the active node.
 */
export const SYSTEM_READS: ReadonlySet<string> = new Set([
  'mounts',
  'mounts/*path',
  'mounts/*path/tune',
  'auth',
  'auth/*path',
  'auth/*path/tune',
  'internal/ui/mounts',
  'internal/ui/mounts/*path',
  'internal/ui/namespaces',
  'internal/ui/resultant-acl',
  'internal/ui/version',
  'internal/ui/feature-flags',
  'internal/specs/openapi',
  'internal/counters/config',
  'internal/counters/tokens',
  'internal/counters/entities',
  'policy/?',
  'policy/*name',
  'policies/acl/?',
  'policies/acl/*name',
  'policies/password/?',
  'policies/password/*name',
  'policies/password/*name/generate',
  'quotas/config',
  'quotas/rate-limit/?',
  'quotas/rate-limit/:name',
  'quotas/lease-count/?',
  'quotas/lease-count/:name',
  'namespaces/?',
  'namespaces/*path',
  'audit',
  'config/auditing/request-headers',
  'config/auditing/request-headers/:header',
  'key-status',
  'wrapping/lookup',
  'license/status',
  'ha-status',
  'host-info',
  'in-flight-req',
  'metrics',
  'loggers',
  'loggers/:name',
  'monitor',
  ...pprofPaths.map(({ pattern }) => pattern),
])

const TOOLS = ['random', 'random/:urlbytes', 'random/:source/:urlbytes', 'hash', 'hash/:urlalgorithm']

/**
 * Operations with a write verb that do not change stored data, by mount type. A performance standby answers them
 * itself. A request with a limited-use token still requires the active node. Logins are not included, since the active
 * node counts failures.
 */
export const UPDATES_ALONE: Readonly<Record<string, readonly string[]>> = {
  system: [
    'capabilities',
    'capabilities-self',
    'capabilities-accessor',
    'wrapping/lookup',
    'audit-hash/*name',
    'loggers',
    'loggers/:name',
    ...TOOLS.map((pattern) => `tools/${pattern}`),
  ],
  token: ['create', 'create-orphan', 'create/:role_name', 'lookup', 'lookup-accessor'],
  approle: ['role/:role_name/secret-id/lookup/?', 'role/:role_name/secret-id-accessor/lookup/?'],
  identity: ['lookup/entity', 'lookup/group'],
  transit: [
    'encrypt/:name',
    'decrypt/:name',
    'rewrap/:name',
    'datakey/:plaintext/:name',
    ...TOOLS,
    ...['sign', 'verify', 'hmac'].flatMap((verb) => [`${verb}/:name`, `${verb}/:name/:urlalgorithm`]),
  ],
}

const UPDATES: ReadonlySet<string> = new Set(
  Object.entries(UPDATES_ALONE).flatMap(([mount, patterns]) => patterns.map((pattern) => `${mount}\n${pattern}`)),
)

/**
 * Returns whether a performance standby tries to answer a request itself. `mount` is the type of the backend. Only the
 * active node creates secrets, also those that a read creates.
 */
export const isAnsweredAlone = (
  mount: string,
  pattern: string,
  operation: Operation,
  { createsLease }: PathRules,
): boolean => {
  if (isWrite(operation)) return UPDATES.has(`${mount}\n${pattern}`)
  if (operation === 'read' && createsLease) return false
  return mount !== 'system' || operation === 'help' || SYSTEM_READS.has(pattern)
}
