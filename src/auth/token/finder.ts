import type { Call } from '../../logical/backend.js'
import { invalid, invalidInList, LogicalError } from '../../logical/errors.js'
import { duration, string } from '../../logical/fields.js'
import type { Request } from '../../logical/request.js'
import type { TokenAuthority } from './authority.js'
import type { TokenInfo } from '../../logical/token-request.js'

export const TOKEN_FIELD = { token: string('The token. A lookup uses the token of the request by default.') }
export const ACCESSOR_FIELD = { accessor: string('The accessor of the token.') }
export const INCREMENT_FIELD = { increment: duration('Requested TTL from now.') }

/** Returns the LogicalError 403 of a lookup of an invalid token. */
export const badToken = (): LogicalError => new LogicalError('permission-denied', 'bad token')

/** Returns the path for policy checks, relative to the token's namespace. */
export const aclPath = (request: Request, token: TokenInfo): string =>
  request.namespace.path.slice(token.namespace.path.length) + request.path

/** Returns the token in the body of a request. Throws LogicalError 400 if the body contains no token. */
export const namedToken = ({ values }: Pick<Call<typeof TOKEN_FIELD>, 'values'>): string => {
  if (values.token === '') throw invalid('missing token ID')
  return values.token
}

/** Finds a token in the request's namespace or below it. Tokens of other namespaces count as unknown. */
export const findToken = (authority: TokenAuthority, request: Request, presented: string): TokenInfo | undefined =>
  visible(request, authority.find(presented))

/**
 * Returns the token of the request, which may be in a parent namespace. Throws LogicalError 403 for an invalid token.
 */
export const ownToken = (authority: TokenAuthority, { clientToken = '' }: Request): TokenInfo => {
  const token = authority.find(clientToken)
  if (!token) throw badToken()
  return token
}

type AccessorCall = Pick<Call<typeof ACCESSOR_FIELD>, 'request' | 'values'>

export const findByAccessor = (authority: TokenAuthority, { request, values }: AccessorCall): TokenInfo | undefined => {
  if (values.accessor === '') throw invalidInList('missing accessor')
  return visible(request, authority.findByAccessor(values.accessor))
}

export const requireByAccessor = (authority: TokenAuthority, call: AccessorCall): TokenInfo => {
  const token = findByAccessor(authority, call)
  if (!token) throw invalidInList('invalid accessor')
  return token
}

const visible = (request: Request, token: TokenInfo | undefined): TokenInfo | undefined =>
  token?.namespace.path.startsWith(request.namespace.path) ? token : undefined
