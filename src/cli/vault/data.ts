/** The commands read, write, list, delete, patch, unwrap and path-help, which send requests to any path. */
import { textOfJson } from '../../base/json-print.js'
import { LIST, type RequestOptions } from './api.js'
import { type Call, type Command, command, type Session } from './command.js'
import { flag } from './flags.js'
import { localError, remoteError, type Secret } from './model.js'
import { printListing } from './output.js'
import { readData, readQuery } from './values.js'

const WRITE_FLAGS = {
  force: flag.bool('Write without data.', { aliases: ['f'] }),
} as const

export const dataCommands: readonly Command[] = [
  command('read PATH [DATA K=V...]', 'Read data from a path', async (call) => {
    const query = await readQuery(call.args.slice(1), call.io)
    return call.out.secret(await readAt(call, call.at, { query }))
  }),
  command('write PATH [DATA K=V...]', 'Write data to a path, or call an endpoint', WRITE_FLAGS, (call) =>
    write(call, 'PUT'),
  ),
  command('patch PATH [DATA K=V...]', 'Patch data at a path', WRITE_FLAGS, (call) => write(call, 'PATCH')),
  command('list PATH', 'List the keys below a path', { detailed: flag.bool('Show the details of each key.') }, (call) =>
    listAt(call, call.at, call.flags.detailed),
  ),
  command('delete PATH [DATA K=V...]', 'Delete data at a path', async (call) =>
    writeAt(call, 'DELETE', call.at, { query: await readQuery(call.args.slice(1), call.io) }),
  ),
  command(
    'unwrap [TOKEN]',
    'Unwrap a wrapped response (its token works once)',
    async ({ api, out, args: [token = ''] }) => {
      const isOther = token !== '' && api.settings.token !== '' && token !== api.settings.token
      const secret = await api.find('Error unwrapping', 'PUT', 'sys/wrapping/unwrap', {
        ...(isOther ? { body: { token } } : token ? { token } : {}),
        isWrapped: false,
      })
      if (!secret) throw remoteError('Could not find wrapped response')
      return out.secret(secret)
    },
  ),
  command('path-help PATH', 'Print the help of a path', async ({ api, out, at }) => {
    const { body } = await api.request('Error retrieving help', 'GET', at, { query: { help: '1' } })
    return out.value(body, () => textOfJson(body.help))
  }),
]

const write = async (call: Call<typeof WRITE_FLAGS>, method: 'PUT' | 'PATCH'): Promise<number> => {
  const pairs = call.args.slice(1)
  if (pairs.length === 0 && !call.flags.force) throw localError('Must supply data or use -force')
  return writeAt(call, method, call.at, { body: pairs.length === 0 ? null : await readData(pairs, call.io) })
}

/** Reads a path. Rejects with a remote error if the path has no value. */
export const readAt = async ({ api }: Session, at: string, options: RequestOptions = {}): Promise<Secret> =>
  found(await api.find(`Error reading ${at}`, 'GET', at, options), at)

/** Lists a path and prints its keys. */
export const listAt = async ({ api, out }: Session, at: string, isDetailed = false): Promise<number> =>
  printListing(out, await api.find(`Error listing ${at}`, 'GET', at, LIST), at, isDetailed)

/** For each method, the start of its error text and the start of its success message. */
const WRITES = {
  PUT: ['Error writing data to', 'Data written to:'],
  PATCH: ['Error patching', 'Data written to:'],
  DELETE: ['Error deleting', 'Data deleted (if it existed) at:'],
} as const

/** Writes, patches or deletes a path. Prints the response, or a success message if the response has no body. */
export const writeAt = async (
  { api, out }: Session,
  method: keyof typeof WRITES,
  at: string,
  options: RequestOptions = {},
): Promise<number> => {
  const [error, success] = WRITES[method]
  const { secret } = await api.request(`${error} ${at}`, method, at, options)
  return secret ? out.secret(secret) : out.success(`${success} ${at}`)
}

export const found = (secret: Secret | undefined, at: string): Secret => {
  if (!secret) throw remoteError(`No value found at ${at}`)
  return secret
}
