import { isAddressAllowed } from './token-record.js'
import { LogicalError } from '../../logical/errors.js'
import { type NamespaceRef, type Request, ROOT_NAMESPACE } from '../../logical/request.js'
import type { IdentityStore } from '../identity/identity.js'
import type { PolicyStore } from '../acl/policies.js'
import type { TokenEntry, TokenStore } from './tokens.js'
import type { Acl } from '../acl/acl.js'

interface UncountedRightsOptions {
  readonly tokens: TokenStore
  readonly policies: PolicyStore
  readonly identity: IdentityStore
}

/** Policies cannot restrict this parameter, since it contains the credential itself. */
const CREDENTIAL = 'dr_operation_token'

/**
 * The access rules of a token on a DR secondary, which counts no uses of tokens. Requests to a DR secondary concern the
 * whole cluster, so only tokens of the root namespace have access. All restrictions of the token apply:
 *
 * - the expiry of the token and of its parents
 * - its CIDR bindings
 * - its policies on the exact path of the request
 */
export const uncountedRights = ({ tokens, policies, identity }: UncountedRightsOptions) => {
  const isAllowed = (token: TokenEntry, request: Request): boolean => {
    const { path, operation, wrap } = request
    if (token.namespace.id !== ROOT_NAMESPACE.id || request.namespace.id !== ROOT_NAMESPACE.id) return false
    if (!isAddressAllowed(token, request.remoteAddress)) return false
    const { [CREDENTIAL]: _, ...data } = request.data
    if (identity.refuses(token)) return false
    return aclOf(token, { policies, identity }).check({ path, operation, data, wrap, needsSudo: false }).isAllowed
  }
  return {
    /**
     * Returns whether a token in the body is accepted instead of an operation token. Only batch tokens without the root
     * policy are.
     */
    isOperationAllowed(presented: string, request: Request): boolean {
      const token = tokens.find(presented)
      return token?.type === 'batch' && !token.isRoot && isAllowed(token, request)
    },
    /** Throws LogicalError 403 unless the token of the request allows the request. Rejects tokens with limited uses. */
    require(request: Request): void {
      const token = request.clientToken ? tokens.find(request.clientToken) : undefined
      if (token?.numUses !== 0 || !isAllowed(token, request)) {
        throw new LogicalError('permission-denied', 'permission denied')
      }
    },
  }
}

/** Returns the access rules of a token, from its own policies and those of its entity and groups. */
export const aclOf = (
  token: { readonly policies: readonly string[]; readonly namespace: NamespaceRef; readonly entityId: string },
  { policies, identity }: { readonly policies: PolicyStore; readonly identity: IdentityStore },
): Acl => {
  const names = [...token.policies, ...identity.policiesOf(token)]
  return policies.aclFor(names, token.namespace, identity.viewOf(token.entityId))
}
