import { type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import type { TokenAuthority, TokenInfo } from './authority.js'
import { ACCESSOR_FIELD, aclPath, namedToken, TOKEN_FIELD, TokenFinder } from './finder.js'

/** Creates the revocation endpoints of auth/token, with or without child tokens and leases. */
export const revokePaths = (authority: TokenAuthority): PathSpec[] => {
  const finder = new TokenFinder(authority)
  const revoke = async (token: TokenInfo | undefined): Promise<undefined> => {
    if (!token) return
    refuseBatch(token)
    await authority.revokeTree(token)
  }
  const revokeOrphan = async (call: Call<typeof TOKEN_FIELD>): Promise<undefined> => {
    const presented = namedToken(call)
    const self = finder.own(call.request)
    if (!authority.hasSudo(self, aclPath(call.request, self))) {
      throw invalid('root or sudo privileges required to revoke and orphan')
    }
    const token = finder.find(call.request, presented)
    if (!token) throw invalid('token to revoke not found')
    refuseBatch(token)
    await authority.revokeAndOrphan(token)
  }
  return [
    definePath({
      pattern: 'revoke-self',
      fields: {},
      summary: 'Revokes the token of the request and all it created.',
      operations: { update: ({ request }) => revoke(finder.own(request)) },
    }),
    definePath({
      pattern: 'revoke',
      fields: TOKEN_FIELD,
      summary: 'Revokes a token and all it created.',
      operations: { update: (call) => revoke(finder.find(call.request, namedToken(call))) },
    }),
    definePath({
      pattern: 'revoke-orphan',
      fields: TOKEN_FIELD,
      summary: 'Revokes a token; what it created lives on without a parent.',
      operations: { update: revokeOrphan },
    }),
    definePath({
      pattern: 'revoke-accessor',
      fields: ACCESSOR_FIELD,
      summary: 'Revokes the token of an accessor and all it created.',
      operations: {
        update: async (call) => {
          const token = finder.findByAccessor(call)
          if (!token) return { warnings: ['No token found with this accessor'] }
          return revoke(token)
        },
      },
    }),
  ]
}

const refuseBatch = (token: TokenInfo): void => {
  if (token.type === 'batch') throw invalid('batch tokens cannot be revoked')
}
