/**
 * The private storage of each service token. A value is JSON text at the key `<storage ID of the token>/<path>`. A
 * request reads and lists only keys of its own token. The revocation of a token deletes all keys below the storage ID
 * of the token.
 */
import { type Backend, type BackendContext, type Call, definePath, listed } from '../../logical/backend.js'
import { printDocument } from '../../logical/document.js'
import { invalid, invalidInList, permissionDenied } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import { storedJson } from '../../logical/json.js'
import { asFolder } from '../../logical/storage.js'
import type { Request, Response, TokenView } from '../../logical/request.js'

interface CubbyholeOptions {
  /** Returns the name of a token's folder: one path segment that does not reveal the token. */
  readonly storageIdOf: (token: TokenView) => string
  /** Returns the response for a value that the server itself has written; undefined for any other value. */
  readonly presentOwn?: (token: TokenView | undefined, path: string, value: Buffer) => Response | undefined
}

const FIELDS = { path: string('Path in the cubbyhole of the token.') }

export const createCubbyhole = ({ storage }: Pick<BackendContext, 'storage'>, options: CubbyholeOptions): Backend => {
  const folderOf = ({ token }: Request): string => {
    if (!token) throw permissionDenied()
    if (token.type !== 'service') throw invalid('cubbyhole operations are only supported by "service" type tokens')
    return `${options.storageIdOf(token)}/`
  }

  const write = async ({ request, values }: Call<typeof FIELDS>): Promise<undefined> => {
    const folder = folderOf(request)
    if (Object.keys(request.data).length === 0) throw invalidInList('missing data fields')
    if (values.path === '') throw invalidInList('missing path')
    const document = await printDocument(request.data)
    return storage.write((tx) => void tx.put(folder + values.path, document.take()))
  }

  return {
    type: 'cubbyhole',
    paths: [
      definePath('*path', FIELDS, 'Read, write, delete or list the cubbyhole of the token.', {
        read: ({ request, values }) => {
          const folder = folderOf(request)
          if (values.path === '') throw invalidInList('missing path')
          const value = storage.get(folder + values.path)
          return value && (options.presentOwn?.(request.token, values.path, value) ?? { data: storedJson(value) })
        },
        create: write,
        update: write,
        delete: ({ request, values }) => {
          const key = folderOf(request) + values.path
          return storage.write((tx) => void tx.delete(key))
        },
        list: ({ request, values }) => listed(storage.list(folderOf(request) + asFolder(values.path))),
        exists: ({ request, values }) =>
          request.token?.type === 'service' && storage.get(folderOf(request) + values.path) !== undefined,
        takesAnyField: true,
      }),
    ],
  }
}
