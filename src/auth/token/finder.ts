import type { Call } from '../../logical/backend.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { duration, string } from '../../logical/fields.js'
import type { Request } from '../../logical/request.js'
import type { TokenAuthority, TokenInfo } from './authority.js'

export const TOKEN_FIELD = { token: string('The token; in lookups the token of the request when it is left out.') }
export const ACCESSOR_FIELD = { accessor: string('The accessor of the token.') }
export const INCREMENT_FIELD = { increment: duration('How long the token should live from now.') }

/** 403: what a lookup says of a token that is none. */
export const badToken = (): LogicalError => new LogicalError('permission-denied', 'bad token')

/** The path of a request as the rules of its token see it: below the token's namespace. */
export const aclPath = (request: Request, token: TokenInfo): string =>
  request.namespace.path.slice(token.namespace.path.length) + request.path

/** The token that a body names. Throws 400 when it names none. */
export const namedToken = ({ values }: Pick<Call<typeof TOKEN_FIELD>, 'values'>): string => {
  if (values.token === '') throw invalid('missing token ID')
  return values.token
}

const wrapped = (message: string): LogicalError => new LogicalError('invalid-request', message, { wrapped: true })

/** Finds the tokens that requests speak of. Tokens of other branches of the namespace tree are unknown in a namespace. */
export class TokenFinder {
  readonly #authority: TokenAuthority

  constructor(authority: TokenAuthority) {
    this.#authority = authority
  }

  find(request: Request, presented: string): TokenInfo | undefined {
    return visible(request, this.#authority.find(presented))
  }

  /** One's own token is good wherever the pipeline let it through, also below its namespace. */
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
