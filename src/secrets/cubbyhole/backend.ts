/**
 * The store that each service token has for itself: `<storage id of the token>/<path>`, JSON text as values. It never
 * lists or reads across tokens; whoever ends a token deletes what lies below its storage id.
 */
import { type Backend, type BackendContext, type Call, definePath } from '../../logical/backend.js'
import { printDocument } from '../../logical/document.js'
import { invalid, LogicalError, permissionDenied } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import { storedJson } from '../../logical/json.js'
import type { Request, Response, TokenView } from '../../logical/request.js'

interface CubbyholeOptions {
  /** The name of a token's folder: one path segment that does not tell the token. */
  readonly storageIdOf: (token: TokenView) => string
  /** What is shown of a stored value that the server itself has put there; undefined for any other. */
  readonly presentOwn?: (token: TokenView | undefined, path: string, value: Buffer) => Response | undefined
}

const FIELDS = { path: string('Location in the store of the token.') }

type CubbyholeCall = Call<typeof FIELDS>

export const createCubbyhole = ({ storage }: Pick<BackendContext, 'storage'>, options: CubbyholeOptions): Backend => {
  const folderOf = ({ token }: Request): string => {
    if (!token) throw permissionDenied()
    if (token.type !== 'service') throw invalid("cubbyhole operations are only supported by 'service' type tokens")
    return `${options.storageIdOf(token)}/`
  }

  const read = ({ request, values }: CubbyholeCall): Response | undefined => {
    const folder = folderOf(request)
    if (values.path === '') throw missing('path')
    const value = storage.get(folder + values.path)
    return value && (options.presentOwn?.(request.token, values.path, value) ?? { data: storedJson(value) })
  }

  const write = async ({ request, values }: CubbyholeCall): Promise<undefined> => {
    const folder = folderOf(request)
    if (Object.keys(request.data).length === 0) throw missing('data fields')
    if (values.path === '') throw missing('path')
    const document = await printDocument(request.data)
    return storage.write((tx) => {
      tx.put(folder + values.path, document.take())
      return undefined
    })
  }

  const remove = ({ request, values }: CubbyholeCall): Promise<undefined> => {
    const key = folderOf(request) + values.path
    return storage.write((tx) => {
      tx.delete(key)
      return undefined
    })
  }

  const list = async ({ request, values: { path } }: CubbyholeCall): Promise<Response | undefined> => {
    const below = path === '' || path.endsWith('/') ? path : `${path}/`
    const keys = await storage.list(folderOf(request) + below)
    return keys.length === 0 ? undefined : { data: { keys } }
  }

  return {
    type: 'cubbyhole',
    paths: [
      definePath({
        pattern: '*path',
        fields: FIELDS,
        operations: { read, create: write, update: write, delete: remove, list },
        exists: ({ request, values }) =>
          request.token?.type === 'service' && storage.get(folderOf(request) + values.path) !== undefined,
        summary: 'The store of the token that asks.',
        takesAnyField: true,
      }),
    ],
  }
}

/** 400 in the form of a list: the reference answers this mistake with its status of a failure. */
const missing = (what: string): LogicalError =>
  new LogicalError('invalid-request', `missing ${what}`, { wrapped: true })
