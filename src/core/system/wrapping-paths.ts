import { type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import type { TokenEntry } from '../tokens/tokens.js'
import type { Wrapping } from '../wrapping/wrapping.js'

const TOKEN_FIELD = { token: string('The wrapping token. Default: the token of the request.') }

type TokenCall = Call<typeof TOKEN_FIELD>

export const wrappingPaths = (wrapping: Wrapping): PathSpec[] => {
  const entryOf = async ({ request, values }: TokenCall): Promise<TokenEntry> =>
    wrapping.find(await wrapping.resolve(values.token || request.clientToken || ''))
  const lookup = async (call: TokenCall) => ({ data: wrapping.describe(await entryOf(call)) })
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
        const entry = await entryOf(call)
        const isOwn = call.request.token?.id === entry.id
        const { status, contentType, body } = await wrapping.unwrap(entry, isOwn)
        return { status, raw: { contentType, body } }
      },
    }),
    definePath('wrapping/rewrap', TOKEN_FIELD, 'Move a wrapped response to a new token.', {
      update: async (call) => ({ wrapInfo: await wrapping.rewrap(await entryOf(call)) }),
    }),
  ]
}
