import type { Clock } from '../../base/clock.js'
import { type Call, definePath, type PathSpec } from '../../logical/backend.js'
import type { Request, Response } from '../../logical/request.js'
import type { TokenAuthority, TokenInfo } from './authority.js'
import { ACCESSOR_FIELD, badToken, TOKEN_FIELD, TokenFinder } from './finder.js'
import { lookupData } from './lookup.js'

/** auth/token: telling about tokens. */
export const lookupPaths = (authority: TokenAuthority, clock: Clock): PathSpec[] => {
  const finder = new TokenFinder(authority)
  const show = (token: TokenInfo, id: string) =>
    lookupData(token, id, { nowMs: clock.now(), identityPolicies: authority.identityPoliciesOf(token) })
  const lookupSelf = ({ request }: { readonly request: Request }): Response => ({
    data: show(finder.own(request), request.clientToken ?? ''),
  })
  const lookup = (call: Call<typeof TOKEN_FIELD>): Response => {
    const { request, values } = call
    if (values.token === '') return lookupSelf(call)
    const token = finder.find(request, values.token)
    if (!token) throw badToken()
    return { data: show(token, values.token) }
  }
  return [
    definePath({
      pattern: 'lookup-self',
      fields: {},
      summary: 'Tells about the token of the request.',
      operations: { read: lookupSelf, update: lookupSelf },
    }),
    definePath({
      pattern: 'lookup',
      fields: TOKEN_FIELD,
      summary: 'Tells about a token.',
      operations: { read: lookup, update: lookup },
    }),
    definePath({
      pattern: 'lookup-accessor',
      fields: ACCESSOR_FIELD,
      summary: 'Tells about the token of an accessor, but not what it is.',
      operations: { update: (call) => ({ data: show(finder.byAccessor(call), '') }) },
    }),
    definePath({
      pattern: 'accessors/?',
      fields: {},
      summary: 'Lists the accessors of all service tokens.',
      operations: {
        list: async ({ request }) => ({ data: { keys: await authority.listAccessors(request.namespace.id) } }),
      },
    }),
  ]
}
