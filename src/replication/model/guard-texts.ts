import type { Kind } from './types.js'

/** The error texts of replication. Clients match these texts, so they must not change. */

export const kindName = (kind: Kind): string => (kind === 'dr' ? 'DR' : 'performance')

export const PRIMARY_UNREACHABLE_TEXT = 'primary cluster is unreachable'
export const PRIMARY_OVERTAKEN_TEXT = 'a newer primary has replaced the primary cluster: outcome unknown'
export const CATCHING_UP_TEXT = 'replication is still catching up, try again later or provide the "force" argument'
/** The error of a promotion if waiting does not complete the replication. */
export const INCOMPLETE_TEXT =
  'replication is incomplete, and waiting does not help; to promote anyway, provide the "force" argument'

export const GUARDS = {
  alreadyPrimary: (kind: Kind) => `cluster is already a ${kindName(kind)} primary`,
  promoteInstead: (kind: Kind) => `cluster is a ${kindName(kind)} secondary; promote it instead`,
  notPrimary: (kind: Kind) => `cluster is not a ${kindName(kind)} primary`,
  notSecondary: (kind: Kind) => `cluster is not a ${kindName(kind)} secondary`,
  alreadyEnabled: (kind: Kind) => `${kindName(kind)} replication is already enabled on this cluster`,
  performanceFirst: 'performance replication must be disabled before this cluster can become a DR secondary',
  disableDrFirst: 'disable DR replication first',
  missingId: 'missing id',
  invalidId: 'invalid id',
  idInUse: (id: string) => `id "${id}" is already in use by a secondary; revoke it first`,
  invalidTtl: 'invalid ttl',
  invalidPublicKey: 'invalid secondary_public_key',
  publicKeyVersion: (version: string) =>
    `invalid secondary_public_key: tokens for a public key need version 1.3 or newer, this cluster has ${version}`,
  missingToken: 'missing token',
  invalidToken: 'invalid token',
  exclusive: 'token and update_primary_addrs are mutually exclusive',
  oneRequired: 'one of token or update_primary_addrs is required',
  needsCredentials: 'update_primary_addrs needs existing credentials; use a token',
  noneAnswered: (details: string) => `none of update_primary_addrs answered: ${details}`,
  tokenOfKind: (kind: Kind) =>
    `token is for ${kindName(kind)} replication: use it at sys/replication/${kind}/secondary/enable or update-primary`,
  noActivationToken: (path: string) => `token is not an activation token: it wraps a response of "${path}"`,
  otherSet: 'token belongs to another replication set; use secondary/enable',
  ownSecondary: 'a cluster cannot be its own secondary',
  damaged: (damage: readonly string[]) =>
    `the data of this cluster is damaged: ${damage.join('; ')}. A reindex would accept the remaining data as ` +
    'correct, and secondaries would delete data that only they still have. Promote a secondary, or restore the ' +
    'files. To reindex anyway, provide the "force" argument',
  reindexRunning: 'reindex is already running',
  aheadOfPrimary:
    'this cluster is ahead of its primary, which was restored to an earlier state. To discard the data that only this cluster has, ' +
    'provide the "force" argument. To keep this data, promote this cluster',
  notEnabled: 'replication is not enabled',
  invalidFilterMode: 'mode must be allow or deny',
  cannotFilter: (path: string) => `"${path}" cannot be filtered`,
  ambiguousId: (id: string, ids: readonly string[]) => `id "${id}" is ambiguous; use one of: ${ids.join(', ')}`,
  tooManySecondaries: (max: number) => `at most ${max} secondaries can be registered`,
  tooManyPaths: (max: number) => `a filter has at most ${max} paths`,
  missingOperationToken: 'missing dr_operation_token',
  enterpriseOnly: 'enterprise-only feature',
  drNotLicensed: 'DR replication is not included in this license',
} as const
