import { isAddressAllowed } from '../tokens/token-record.js'
import { decideWriteOperation } from '../../logical/dispatch.js'
import { LogicalError, permissionDenied, wrapErrorText } from '../../logical/errors.js'
import type { BodySender } from '../../logical/incoming.js'
import type { PathRules } from '../../logical/path-rules.js'
import type { NamespaceRef, Request } from '../../logical/request.js'
import type { AclVerdict } from '../acl/acl.js'
import type { IdentityStore } from '../identity/identity.js'
import type { PolicyStore } from '../acl/policies.js'
import type { Route } from '../mounts/router.js'
import { aclOf } from '../tokens/token-rights.js'
import type { TokenEntry, TokenStore } from '../tokens/tokens.js'
import { notValid, type Wrapping } from '../wrapping/wrapping.js'

export interface AuthoriserOptions {
  readonly tokens: TokenStore
  readonly policies: PolicyStore
  readonly identity: IdentityStore
  readonly wrapping: Wrapping
}

/**
 * The token of a request and the decision about the request. If `failure` is set, the request is rejected, and the
 * audit entries contain the failure.
 */
export interface Authorised {
  readonly token: TokenEntry | undefined
  readonly verdict: AclVerdict | undefined
  /** True if the request took the last use of the token. The token is revoked after the request. */
  readonly isLastUse: boolean
  readonly failure: LogicalError | undefined
}

/** Authenticates and authorizes requests, and counts the use of the token, even if the request is then denied. */
export class Authoriser {
  readonly #options: AuthoriserOptions

  constructor(options: AuthoriserOptions) {
    this.#options = options
  }

  /**
   * Identifies the caller of a path that requires no token. Sets the token of the request if it is valid, and ignores
   * an invalid token.
   */
  identify(request: Request): Authorised {
    const { tokens, identity } = this.#options
    const found = request.clientToken === undefined ? undefined : tokens.find(request.clientToken)
    const isGood =
      found && found.numUses >= 0 && isAddressAllowed(found, request.remoteAddress) && !identity.refuses(found)
    const token = isGood ? found : undefined
    if (token) request.token = token
    return { token, verdict: undefined, isLastUse: false, failure: undefined }
  }

  /** Returns whether the sender has a valid token, regardless of its policies. Does not consume a use of the token. */
  isKnown({ clientToken, remoteAddress }: BodySender, namespace: NamespaceRef): boolean {
    const { tokens, identity } = this.#options
    const token = clientToken === undefined ? undefined : tokens.find(clientToken)
    if (!token || !isAddressAllowed(token, remoteAddress) || identity.refuses(token)) return false
    return namespace.path.startsWith(token.namespace.path)
  }

  async authorise(request: Request, route: Route | undefined): Promise<Authorised> {
    const { tokens, wrapping, identity } = this.#options
    const isWrapping = route?.rules.wrappingToken !== undefined
    const { clientToken } = request
    const presented = isWrapping && clientToken ? await wrapping.resolve(clientToken) : clientToken
    const token = presented ? tokens.find(presented) : undefined
    if (!token) {
      const mistake = isWrapping ? wrapping.mistakeIn(clientToken || tokenIn(request)) : undefined
      return refused(mistake ?? tokenMissing(clientToken))
    }
    if (isWrapping) this.#validateWrapped(request, token, route.rules)
    request.token = token
    if (!isAddressAllowed(token, request.remoteAddress) || identity.refuses(token)) {
      return refused(tokenMissing(undefined))
    }
    if (!request.namespace.path.startsWith(token.namespace.path)) return refused(permissionDenied())
    const mistake = route && decideOperation(request, route)
    const verdict = mistake ? undefined : this.#check(request, token, route)
    const use = token.numUses === 0 ? 'free' : await tokens.use(token)
    if (use === 'spent') return refused(isWrapping ? notValid() : tokenMissing(clientToken))
    const failure = mistake ?? (verdict?.isAllowed ? undefined : permissionDenied())
    return { token, verdict, isLastUse: use === 'last', failure }
  }

  /**
   * Validates the wrapping token of a request, from the body or the header. Runs before the policy check, so that an
   * invalid wrapping token causes the error of Vault. Throws LogicalError 400 for such a token.
   */
  #validateWrapped(request: Request, token: TokenEntry, { wrappingToken }: PathRules): void {
    const named = tokenIn(request)
    if (named !== '') {
      if (named.split('.').length !== 3) this.#options.wrapping.find(named)
    } else if (wrappingToken === 'any') this.#options.wrapping.find(token.id)
  }

  #check(request: Request, token: TokenEntry, route: Route | undefined): AclVerdict {
    const acl = aclOf(token, this.#options)
    const prefix = request.namespace.path.slice(token.namespace.path.length)
    return acl.check({
      path: prefix + pathWithMount(request.path, route),
      operation: request.operation,
      data: request.data,
      wrap: request.wrap,
      needsSudo: route?.rules.access === 'sudo',
    })
  }
}

/**
 * Sets the operation of a write to `create` or `update`. Returns a LogicalError instead of throwing it, because a
 * rejected request also consumes a use of the token.
 */
const decideOperation = (request: Request, { mount, path }: Route): LogicalError | undefined => {
  if (request.operation !== 'update') return undefined
  try {
    request.operation = decideWriteOperation(mount.backend, request, path)
    return undefined
  } catch (error) {
    if (error instanceof LogicalError) return error
    throw error
  }
}

const refused = (failure: LogicalError): Authorised => ({
  token: undefined,
  verdict: undefined,
  isLastUse: false,
  failure,
})

/** Returns the path for the policy check. Adds the trailing slash if the path is the path of a mount. */
const pathWithMount = (path: string, route: Route | undefined): string =>
  route?.path === '' && !path.endsWith('/') ? `${path}/` : path

const tokenIn = ({ data: { token } }: Request): string => (typeof token === 'string' ? token : '')

const tokenMissing = (presented: string | undefined): LogicalError =>
  presented
    ? new LogicalError('permission-denied', wrapErrorText('permission denied', 'invalid token'))
    : new LogicalError('permission-denied', 'permission denied')
