import type { Call } from '../../logical/backend.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { duration, string } from '../../logical/fields.js'
import type { Request } from '../../logical/request.js'
import type { TokenAuthority } from './authority.js'
import type { TokenInfo } from '../../logical/token-request.js'

export const TOKEN_FIELD = { token: string('The token. A lookup uses the token of the request by default.') }
export const ACCESSOR_FIELD = { accessor: string('The accessor of the token.') }
export const INCREMENT_FIELD = { increment: duration('Requested TTL from now.') }

/** Returns the 403 of a lookup for an invalid token. */
export const badToken = (): LogicalError => new LogicalError('permission-denied', 'bad token')

/** Returns the path for policy checks, relative to the token's namespace. */
export const aclPath = (request: Request, token: TokenInfo): string =>
  request.namespace.path.slice(token.namespace.path.length) + request.path

/** Returns the token named in the body. Throws 400 if there is none. */
export const namedToken = ({ values }: Pick<Call<typeof TOKEN_FIELD>, 'values'>): string => {
  if (values.token === '') throw invalid('missing token ID')
  return values.token
}

const wrapped = (message: string): LogicalError => new LogicalError('invalid-request', message, { wrapped: true })

/** Finds the tokens that requests refer to. Tokens of other branches of the namespace tree count as unknown. */
export class TokenFinder {
  readonly #authority: TokenAuthority

  constructor(authority: TokenAuthority) {
    this.#authority = authority
  }

  find(request: Request, presented: string): TokenInfo | undefined {
    return visible(request, this.#authority.find(presented))
  }

  /** Returns the request's own token. It is valid wherever the pipeline accepted it, including child namespaces. */
  own({ clientToken = '' }: Request): TokenInfo {
    const token = this.#authority.find(clientToken)
    if (!token) throw badToken()
    return token
  }

  findByAccessor({ request, values }: Pick<Call<typeof ACCESSOR_FIELD>, 'request' | 'values'>): TokenInfo | undefined {
    if (values.accessor === '') throw wrapped('missing accessor')
    return visible(request, this.#authority.findByAccessor(values.accessor))
  }

  byAccessor(call: Pick<Call<typeof ACCESSOR_FIELD>, 'request' | 'values'>): TokenInfo {
    const token = this.findByAccessor(call)
    if (!token) throw wrapped('invalid accessor')
    return token
  }
}

const visible = (request: Request, token: TokenInfo | undefined): TokenInfo | undefined =>
  token?.namespace.path.startsWith(request.namespace.path) ? token : undefined
