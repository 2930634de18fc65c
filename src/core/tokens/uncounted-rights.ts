import { isAddressAllowed } from './token-cidrs.js'
import { LogicalError } from '../../logical/errors.js'
import { type Request, ROOT_NAMESPACE } from '../../logical/request.js'
import type { IdentityStore } from '../identity/identity.js'
import type { PolicyStore } from '../acl/policies.js'
import { aclOf } from './token-rights.js'
import type { TokenEntry, TokenStore } from './tokens.js'

interface UncountedRightsOptions {
  readonly tokens: TokenStore
  readonly policies: PolicyStore
  readonly identity: IdentityStore
}

/** The credential itself is no parameter that a policy would speak of. */
const CREDENTIAL = 'dr_operation_token'

/**
 * The rights of a token on a DR secondary, which serves no tokens otherwise and counts no uses: whatever such a cluster
 * asks of its operators concerns it as a whole, so that only tokens of the root namespace have any rights there. Every
 * bound of the token is looked at: its end and that of its parents, the addresses it may come from, its policies on
 * exactly the path of the request.
 */
export class UncountedRights {
  readonly #options: UncountedRightsOptions

  constructor(options: UncountedRightsOptions) {
    this.#options = options
  }

  /** Whether a token in the body may stand in for an operation token: batch tokens only, and never root. */
  isOperationAllowed(presented: string, request: Request): boolean {
    const token = this.#options.tokens.find(presented)
    return token?.type === 'batch' && !token.isRoot && this.#isAllowed(token, request)
  }

  /** Throws the pipeline's 403 unless the token that the request was made with may do what it asks for. */
  require(request: Request): void {
    const token = request.clientToken ? this.#options.tokens.find(request.clientToken) : undefined
    if (token?.numUses !== 0 || !this.#isAllowed(token, request)) {
      throw new LogicalError('permission-denied', 'permission denied')
    }
  }

  #isAllowed(token: TokenEntry, request: Request): boolean {
    const { policies, identity } = this.#options
    const { path, operation, wrap } = request
    if (token.namespace.id !== ROOT_NAMESPACE.id || request.namespace.id !== ROOT_NAMESPACE.id) return false
    if (!isAddressAllowed(token, request.remoteAddress)) return false
    const { [CREDENTIAL]: _, ...data } = request.data
    if (identity.refuses(token)) return false
    return aclOf(token, { policies, identity }).check({ path, operation, data, wrap, needsSudo: false }).isAllowed
  }
}
