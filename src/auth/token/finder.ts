import type { Call } from '../../logical/backend.js'
import { invalid, invalidInList, LogicalError } from '../../logical/errors.js'
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

/** Finds a presented token. Tokens of other branches of the namespace tree count as unknown. */
export const findToken = (authority: TokenAuthority, request: Request, presented: string): TokenInfo | undefined =>
  visible(request, authority.find(presented))

/** Returns the request's own token. It is valid wherever the pipeline accepted it, including child namespaces. */
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
