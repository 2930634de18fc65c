import type { Clock } from '../../base/clock.js'
import type { Backend } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { PathRuleTable } from '../../logical/path-rules.js'
import type { RenewalTimes, TokenOrigin } from '../../logical/request.js'
import type { Storage } from '../../logical/storage.js'
import type { TokenAuthority } from './authority.js'
import { createPaths } from './create-paths.js'
import { lookupPaths, renewPaths, revokePaths } from './lifecycle-paths.js'
import { rolePaths } from './role-paths.js'
import { TokenRoles } from './role-record.js'

interface TokenBackendOptions {
  readonly authority: TokenAuthority
  /** The view of `sys/token-roles/`. */
  readonly roles: Storage
  readonly clock: Clock
  /** Returns the token mount of a namespace. Tuning can change it. */
  readonly mountOf: (namespaceId: string) => { readonly accessor: string; readonly maxLeaseTtlSeconds: number }
}

/** Creates the token auth method: one backend for the token mounts of all namespaces, since the core owns tokens. */
export const createTokenBackend = (options: TokenBackendOptions): Backend => {
  const { authority, clock, mountOf } = options
  const roles = new TokenRoles(options.roles)
  return {
    type: 'token',
    paths: [
      ...lookupPaths(authority, clock),
      ...renewPaths(authority),
      ...revokePaths(authority),
      ...rolePaths(roles, (namespaceId) => mountOf(namespaceId).maxLeaseTtlSeconds),
      ...createPaths({ authority, roles, mountAccessor: (namespaceId) => mountOf(namespaceId).accessor }),
    ],
    rules: RULES,
    renew: (origin) => renewByRole(roles, origin),
  }
}

/** `revoke-orphan` checks sudo itself, since its error is different. */
const RULES = new PathRuleTable({
  accessors: { access: 'sudo' },
  'accessors/*': { access: 'sudo' },
  'lookup-self': { isForSelf: true },
  'renew-self': { isForSelf: true },
  'revoke-self': { isForSelf: true },
})

/** Returns the current times of a token's role. Throws 400 if the role no longer exists. */
const renewByRole = (roles: TokenRoles, { internal }: TokenOrigin): RenewalTimes => {
  const name = String(internal.role ?? '')
  const role = roles.find(String(internal.namespaceId ?? ''), name)
  if (!role) throw invalid(`original token role ${JSON.stringify(name)} could not be found, not renewing`)
  return { periodSeconds: role.period.value, explicitMaxTtlSeconds: role.explicitMaxTtl.value }
}
