import { type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import type { TokenEntry } from '../tokens/tokens.js'
import type { Wrapping } from '../wrapping/wrapping.js'

const TOKEN_FIELD = { token: string('The wrapping token. Default: the token of the request.') }

export const wrappingPaths = (wrapping: Wrapping): PathSpec[] => {
  const named = async ({
    request,
    values,
  }: Call<typeof TOKEN_FIELD>): Promise<{ entry: TokenEntry; isOwn: boolean }> => {
    const presented = values.token || request.clientToken || ''
    if (presented === '') throw new LogicalError('permission-denied', 'error validating wrapping token: token is empty')
    const id = await wrapping.resolve(presented)
    const entry = wrapping.find(id)
    return { entry, isOwn: request.token?.id === entry.id }
  }
  const lookup = async (call: Call<typeof TOKEN_FIELD>) => {
    const presented = call.values.token || call.request.clientToken || ''
    return { data: wrapping.describe(wrapping.find(await wrapping.resolve(presented))) }
  }
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
    definePath('wrapping/unwrap', TOKEN_FIELD, 'Unwrap a response, once.', {
      update: async (call) => {
        const { entry, isOwn } = await named(call)
        const { status, contentType, body } = await wrapping.unwrap(entry, isOwn)
        return { status, raw: { contentType, body } }
      },
    }),
    definePath('wrapping/rewrap', TOKEN_FIELD, 'Move a wrapped response to a new token.', {
      update: async (call) => {
        const { entry } = await named(call)
        return { wrapInfo: await wrapping.rewrap(entry) }
      },
    }),
  ]
}
