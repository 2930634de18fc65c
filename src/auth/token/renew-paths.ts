import { definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import type { Response } from '../../logical/request.js'
import type { TokenAuthority, TokenInfo } from './authority.js'
import { ACCESSOR_FIELD, INCREMENT_FIELD, namedToken, TOKEN_FIELD, TokenFinder } from './finder.js'

/** Creates the renewal endpoints of auth/token. */
export const renewPaths = (authority: TokenAuthority): PathSpec[] => {
  const finder = new TokenFinder(authority)
  const renew = async (token: TokenInfo, presented: string, incrementSeconds: number): Promise<Response> => {
    const { auth, warnings } = await authority.renew(token, { incrementSeconds, presented })
    return { auth, warnings }
  }
  return [
    definePath({
      pattern: 'renew-self',
      fields: INCREMENT_FIELD,
      summary: 'Renews the token of the request.',
      operations: {
        update: ({ request, values }) => renew(finder.own(request), request.clientToken ?? '', values.increment),
      },
    }),
    definePath({
      pattern: 'renew',
      fields: { ...TOKEN_FIELD, ...INCREMENT_FIELD },
      summary: 'Renews a token.',
      operations: {
        update: (call) => {
          const presented = namedToken(call)
          const token = finder.find(call.request, presented)
          if (!token) throw invalid('token not found')
          return renew(token, presented, call.values.increment)
        },
      },
    }),
    definePath({
      pattern: 'renew-accessor',
      fields: { ...ACCESSOR_FIELD, ...INCREMENT_FIELD },
      summary: 'Renews the token of an accessor.',
      operations: { update: (call) => renew(finder.byAccessor(call), '', call.values.increment) },
    }),
  ]
}
