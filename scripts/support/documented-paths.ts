/**
 * What the public documentation of Vault describes and this server does not serve. `npm run reference` writes the
 * tables of docs/reference/compatibility.md from here, and test/golden/compatibility.test.ts compares them with a
 * running server.
 */
export interface AbsentFamily {
  readonly family: string
  readonly state: 'not implemented' | 'not planned'
  readonly paths: readonly string[]
}

const MFA_TYPES = ['duo', 'okta', 'pingid', 'totp']

/** Paths that respond with 404. */
export const ABSENT: readonly AbsentFamily[] = [
  {
    family: 'identity: the old names of entity aliases',
    state: 'not implemented',
    paths: [...['alias', 'alias/id', 'alias/id/{id}', 'persona', 'persona/id', 'persona/id/{id}']].map(
      (path) => `identity/${path}`,
    ),
  },
  {
    family: 'identity: tokens and OIDC provider',
    state: 'not implemented',
    paths: [
      ...['config', 'introspect', 'key', 'key/{name}', 'key/{name}/rotate', 'role', 'role/{name}', 'token/{name}'],
      ...['.well-known/keys', '.well-known/openid-configuration', 'assignment', 'assignment/{name}'],
      ...['client', 'client/{name}', 'scope', 'scope/{name}', 'provider', 'provider/{name}'],
      ...['authorize', 'token', 'userinfo', '.well-known/keys', '.well-known/openid-configuration'].map(
        (path) => `provider/{name}/${path}`,
      ),
    ].map((path) => `identity/oidc/${path}`),
  },
  {
    family: 'identity: MFA of logins',
    state: 'not implemented',
    paths: [
      'identity/mfa/login-enforcement',
      'identity/mfa/login-enforcement/{name}',
      'identity/mfa/method',
      'identity/mfa/method/{method_id}',
      ...MFA_TYPES.flatMap((type) => [`identity/mfa/method/${type}`, `identity/mfa/method/${type}/{method_id}`]),
      ...['generate', 'admin-generate', 'admin-destroy'].map((verb) => `identity/mfa/method/totp/${verb}`),
      'sys/mfa/validate',
    ],
  },
  {
    family: 'MFA of single paths',
    state: 'not implemented',
    paths: [
      'sys/mfa/method',
      ...MFA_TYPES.map((type) => `sys/mfa/method/${type}/{name}`),
      ...['generate', 'admin-generate', 'admin-destroy'].map((verb) => `sys/mfa/method/totp/{name}/${verb}`),
    ],
  },
  {
    family: 'transit: import, certificates and other use of keys',
    state: 'not planned',
    paths: [
      ...['import', 'import_version', 'csr', 'set-certificate'].map((verb) => `transit/keys/{name}/${verb}`),
      ...['wrapping_key', 'byok-export/{destination}/{source}', 'byok-export/{destination}/{source}/{version}'].map(
        (path) => `transit/${path}`,
      ),
      ...['datakeys/{plaintext}/{name}', 'derivedkeys/{plaintext}/{name}'].map((path) => `transit/${path}`),
      ...['cmac/{name}', 'cmac/{name}/{url_mac_length}'].map((path) => `transit/${path}`),
    ],
  },
  {
    family: 'OIDC logins with a browser (types `oidc` and `jwt`)',
    state: 'not implemented',
    paths: ['auth_url', 'callback', 'poll'].map((name) => `auth/jwt/oidc/${name}`),
  },
  {
    family: 'pki: ACME, OCSP, EST, SCEP, CMPv2, external policies',
    state: 'not planned',
    paths: [
      ...['acme/directory', 'config/acme', 'roles/{name}/acme/directory', 'eab', 'ocsp', 'unified-ocsp'],
      ...['config/est', 'config/scep', 'config/cmp', 'external-policy/issue'],
    ].map((path) => `pki/${path}`),
  },
  {
    family: 'pki: lists for all clusters, delta lists, lists of other authorities',
    state: 'not planned',
    paths: [
      ...['unified-crl', 'certs/unified-revoked', 'certs/revocation-queue', 'crl/delta', 'crl/rotate-delta'],
      ...['issuer/{issuer_ref}/resign-crls', 'issuer/{issuer_ref}/sign-revocation-list'],
    ].map((path) => `pki/${path}`),
  },
  {
    family: 'pki: metadata of certificates',
    state: 'not implemented',
    paths: ['pki/cert-metadata'],
  },
  {
    family: 'Sentinel policies, control groups',
    state: 'not implemented',
    paths: [
      ...['rgp', 'rgp/{name}', 'egp', 'egp/{name}'].map((path) => `sys/policies/${path}`),
      ...['config/control-group', 'control-group/request', 'control-group/authorize'].map((path) => `sys/${path}`),
    ],
  },
  {
    family: 'raw storage, router',
    state: 'not implemented',
    paths: ['sys/raw', 'sys/raw/{path}', 'sys/internal/inspect/router/{tag}'],
  },
  {
    family: 'plugins',
    state: 'not planned',
    paths: [
      ...['pins', 'pins/{type}/{name}', 'reload/{type}/{name}', 'reload/backend', 'reload/backend/status'],
      ...['runtimes/catalog', 'runtimes/catalog/{type}/{name}'],
    ].map((path) => `sys/plugins/${path}`),
  },
  {
    family: 'recovery mode, unseal with recovery keys',
    state: 'not planned',
    paths: [
      'sys/generate-recovery-token/attempt',
      'sys/generate-recovery-token/update',
      'sys/enable-unseal-recovery',
      'sys/init-unseal-recovery',
    ],
  },
  {
    family: 'reload of the configuration',
    state: 'not implemented',
    paths: ['sys/config/reload/{subsystem}', 'sys/replication/dr/secondary/config/reload/{subsystem}'],
  },
  {
    family: 'messages and sign-in of the UI of Vault',
    state: 'not planned',
    paths: [
      ...['custom-messages', 'custom-messages/{id}', 'login/default-auth', 'login/default-auth/{name}'].map(
        (path) => `sys/config/ui/${path}`,
      ),
      ...['authenticated-messages', 'unauthenticated-messages', 'default-auth-methods'].map(
        (path) => `sys/internal/ui/${path}`,
      ),
    ],
  },
  {
    family: 'raft: reading single secrets of a snapshot',
    state: 'not implemented',
    paths: ['sys/storage/raft/snapshot-load', 'sys/storage/raft/snapshot-load/{snapshot_id}'],
  },
  {
    family: 'managed keys',
    state: 'not planned',
    paths: ['{type}', '{type}/{name}', '{type}/{name}/test/sign'].map((path) => `sys/managed-keys/${path}`),
  },
  {
    family: 'secrets sync',
    state: 'not planned',
    paths: [
      ...['config', 'destinations', 'destinations/{type}/{name}', 'destinations/{type}/{name}/associations'],
      ...['destinations/{type}/{name}/associations/set', 'destinations/{type}/{name}/associations/remove'],
      ...['associations', 'associations/{mount}/{name}', 'associations/destinations', 'github-apps/{name}'],
    ].map((path) => `sys/sync/${path}`),
  },
  {
    family: 'activation flags, reports, well-known labels',
    state: 'not planned',
    paths: [
      ...['activation-flags', 'activation-flags/{feature}/activate', 'utilization-report', 'billing/certificates'],
      ...['well-known', 'well-known/{label}'],
    ].map((path) => `sys/${path}`),
  },
  {
    family: 'events',
    state: 'not implemented',
    paths: ['sys/events/subscribe/{event_type}', 'sys/events/subscriptions'],
  },
]

/**
 * Paths that a served path with a longer variable includes, so that they do not respond with 404: the server rejects
 * these writes with 400.
 */
export const REFUSED: readonly AbsentFamily[] = [
  {
    family: 'lock of the API of a namespace',
    state: 'not implemented',
    paths: ['lock', 'lock/{path}', 'unlock', 'unlock/{path}'].map((path) => `sys/namespaces/api-lock/${path}`),
  },
]

/** The documented types of auth methods and secrets engines. Those that the server cannot mount are absent. */
export const DOCUMENTED_TYPES = {
  auth: [
    ...['alicloud', 'approle', 'aws', 'azure', 'cert', 'cf', 'gcp', 'github', 'jwt', 'kerberos', 'kubernetes', 'ldap'],
    ...['oci', 'oidc', 'okta', 'radius', 'saml', 'scep', 'spiffe', 'token', 'userpass'],
  ],
  secret: [
    ...['ad', 'alicloud', 'aws', 'azure', 'consul', 'cubbyhole', 'database', 'gcp', 'gcpkms', 'identity', 'keymgmt'],
    ...['kmip', 'kubernetes', 'kv', 'ldap', 'mongodbatlas', 'nomad', 'openldap', 'pki', 'rabbitmq', 'spiffe', 'ssh'],
    ...['terraform', 'totp', 'transform', 'transit'],
  ],
} as const
