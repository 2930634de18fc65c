import type { Operation } from '../../logical/request.js'

type Forwarded = 'update' | 'patch' | 'delete' | 'read'

/**
 * All requests that a performance secondary forwards to its primary, by mount type and path pattern: writes to
 * replicated storage, and reads of results that only the primary stores. A primary rejects all other requests, even
 * with a valid certificate, because secondaries must not change the roles, seals, keys and audit devices of the
 * primary.
 */
export const FORWARDED: Readonly<Record<string, Readonly<Record<string, readonly Forwarded[]>>>> = {
  system: {
    'mounts/*path': ['update', 'delete'],
    'mounts/*path/tune': ['update'],
    'auth/*path': ['update', 'delete'],
    'auth/*path/tune': ['update'],
    remount: ['update'],
    'remount/status/:migration_id': ['read'],
    'policy/*name': ['update', 'delete'],
    'policies/acl/*name': ['update', 'delete'],
    'policies/password/*name': ['update', 'delete'],
    'quotas/config': ['update'],
    'quotas/rate-limit/:name': ['update', 'delete'],
    'quotas/lease-count/:name': ['update', 'delete'],
    'namespaces/*path': ['update', 'patch', 'delete'],
    // Creates the entity of a login on a secondary. Clients cannot send this request.
    'internal/replicated-entity': ['update'],
  },
  token: {
    'roles/:name': ['update', 'delete'],
  },
  identity: {
    entity: ['update'],
    'entity/batch-delete': ['update'],
    'entity/merge': ['update'],
    'entity/id/:id': ['update', 'delete'],
    'entity/name/:name': ['update', 'delete'],
    'entity-alias': ['update'],
    'entity-alias/id/:id': ['update', 'delete'],
    group: ['update'],
    'group/id/:id': ['update', 'delete'],
    'group/name/:name': ['update', 'delete'],
    'group-alias': ['update'],
    'group-alias/id/:id': ['update', 'delete'],
  },
  approle: {
    // A SecretID has one count of uses for all clusters.
    login: ['update'],
    'role/:role_name': ['update', 'delete'],
    'role/:role_name/role-id': ['update'],
    'role/:role_name/policies': ['update', 'delete'],
    'role/:role_name/bind-secret-id': ['update', 'delete'],
    'role/:role_name/secret-id-bound-cidrs': ['update', 'delete'],
    'role/:role_name/secret-id-num-uses': ['update', 'delete'],
    'role/:role_name/secret-id-ttl': ['update', 'delete'],
    'role/:role_name/token-bound-cidrs': ['update', 'delete'],
    'role/:role_name/token-ttl': ['update', 'delete'],
    'role/:role_name/token-max-ttl': ['update', 'delete'],
    'role/:role_name/token-num-uses': ['update', 'delete'],
    'role/:role_name/period': ['update', 'delete'],
    'role/:role_name/bound-cidr-list': ['update', 'delete'],
    'role/:role_name/secret-id/?': ['update'],
    'role/:role_name/custom-secret-id': ['update'],
    'role/:role_name/secret-id/destroy/?': ['update', 'delete'],
    'role/:role_name/secret-id-accessor/destroy/?': ['update', 'delete'],
    'tidy/secret-id': ['update'],
  },
  cert: {
    config: ['update'],
    'certs/:name': ['update', 'delete'],
    'crls/:name': ['update', 'delete'],
  },
  jwt: {
    config: ['update'],
    'role/:name': ['update', 'delete'],
  },
  userpass: {
    'users/:username': ['update', 'delete'],
    'users/:username/password': ['update'],
    'users/:username/policies': ['update'],
  },
  transit: {
    'keys/:name': ['update', 'delete'],
    'keys/:name/config': ['update'],
    'keys/:name/rotate': ['update'],
    'keys/:name/trim': ['update'],
    // A backup records its time in the key.
    'backup/:name': ['read'],
    restore: ['update'],
    'restore/:name': ['update'],
    'cache-config': ['update'],
    'config/keys': ['update'],
    // An encryption creates a missing key.
    'encrypt/:name': ['update'],
  },
  database: {
    'config/:name': ['update', 'delete'],
    'rotate-root/:name': ['update'],
    'roles/:name': ['update', 'delete'],
    'static-roles/:name': ['update', 'delete'],
    'rotate-role/:name': ['update'],
  },
  pki: {
    root: ['delete'],
    'root/generate/:type': ['update'],
    'root/rotate/:type': ['update'],
    'root/replace': ['update'],
    'issuers/generate/root/:type': ['update'],
    'issuers/generate/intermediate/:type': ['update'],
    'intermediate/generate/:type': ['update'],
    'intermediate/cross-sign': ['update'],
    'intermediate/set-signed': ['update'],
    'issuers/import/bundle': ['update'],
    'issuers/import/cert': ['update'],
    'issuer/:issuer_ref': ['update', 'patch', 'delete'],
    'issuer/:issuer_ref/revoke': ['update'],
    'keys/generate/internal': ['update'],
    'keys/generate/exported': ['update'],
    'config/auto-tidy': ['update'],
    'keys/import': ['update'],
    'key/:key_ref': ['update', 'delete'],
    'roles/:name': ['update', 'patch', 'delete'],
    'config/ca': ['update'],
    'config/crl': ['update'],
    'config/issuers': ['update'],
    'config/keys': ['update'],
    'config/urls': ['update'],
  },
  ssh: {
    'config/ca': ['update', 'delete'],
    'config/zeroaddress': ['update', 'delete'],
    'roles/:role': ['update', 'delete'],
  },
  totp: {
    'keys/:name': ['update', 'delete'],
  },
  kv: {
    '*path': ['update', 'delete'],
    config: ['update'],
    'data/*path': ['update', 'patch', 'delete'],
    'metadata/*path': ['update', 'patch', 'delete'],
    'delete/*path': ['update'],
    'undelete/*path': ['update'],
    'destroy/*path': ['update'],
  },
}

const KNOWN: ReadonlySet<string> = new Set(
  Object.entries(FORWARDED).flatMap(([mount, patterns]) =>
    Object.entries(patterns).flatMap(([pattern, writes]) => writes.map((write) => [mount, pattern, write].join('\n'))),
  ),
)

/** Returns true if a primary accepts this request. `mount` is the type of the mount. `create` counts as `update`. */
export const isForwardable = (mount: string, pattern: string, operation: Operation): boolean =>
  KNOWN.has([mount, pattern, operation === 'create' ? 'update' : operation].join('\n'))
