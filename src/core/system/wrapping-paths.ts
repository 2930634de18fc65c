import { type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import type { TokenEntry } from '../tokens/tokens.js'
import type { Wrapping } from '../wrapping/wrapping.js'

const TOKEN_FIELD = { token: string('The wrapping token. Default: the token of the request.') }

type TokenCall = Call<typeof TOKEN_FIELD>

export const wrappingPaths = (wrapping: Wrapping): PathSpec[] => {
  const presentedIn = ({ request, values }: TokenCall): string => values.token || request.clientToken || ''
  const entryOf = async (presented: string): Promise<TokenEntry> => wrapping.find(await wrapping.resolve(presented))
  const named = async (call: TokenCall): Promise<TokenEntry> => {
    const presented = presentedIn(call)
    if (presented === '') throw new LogicalError('permission-denied', 'error validating wrapping token: token is empty')
    return entryOf(presented)
  }
  const lookup = async (call: TokenCall) => ({ data: wrapping.describe(await entryOf(presentedIn(call))) })
  return [
    definePath('wrapping/wrap', {}, 'Wrap the data of the request.', {
      update: ({ request }) => {
        if (!request.wrap) throw invalid('endpoint requires response wrapping to be used')
        return { data: { ...request.data } }
      },
      takesAnyField: true,
    }),
    definePath('wrapping/lookup', TOKEN_FIELD, 'Look up a wrapping token without using it.', {
      read: lookup,
      update: lookup,
    }),
    definePath('wrapping/unwrap', TOKEN_FIELD, 'Unwrap a response. Each wrapping token works once.', {
      update: async (call) => {
        const entry = await named(call)
        const isOwn = call.request.token?.id === entry.id
        const { status, contentType, body } = await wrapping.unwrap(entry, isOwn)
        return { status, raw: { contentType, body } }
      },
    }),
    definePath('wrapping/rewrap', TOKEN_FIELD, 'Move a wrapped response to a new token.', {
      update: async (call) => ({ wrapInfo: await wrapping.rewrap(await named(call)) }),
    }),
  ]
}
