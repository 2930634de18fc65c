/** read, write, list, delete, patch, unwrap and path-help: requests for any path. */
import { textOfJson } from '../../base/json-print.js'
import type { Reply } from './api.js'
import { type Call, type Command, defineCommand } from './command.js'
import { flag } from './flags.js'
import { localError, remoteError, type Secret } from './model.js'
import { type Output, printListing } from './output.js'
import { readData, readQuery } from './values.js'

const WRITE_FLAGS = {
  force: flag.bool('Write without data.', { aliases: ['f'] }),
} as const

export const dataCommands: readonly Command[] = [
  defineCommand('read PATH [DATA K=V...]', {
    summary: 'Read data from a path',
    run: async ({ api, out, io, at, args: [, ...pairs] }) => {
      const secret = await api.find(`Error reading ${at}`, 'GET', at, { query: await readQuery(pairs, io) })
      return out.secret(found(secret, at))
    },
  }),
  defineCommand('write PATH [DATA K=V...]', {
    summary: 'Write data to a path, or call an endpoint',
    flags: WRITE_FLAGS,
    run: (call) => write(call, 'PUT', 'Error writing data to'),
  }),
  defineCommand('patch PATH [DATA K=V...]', {
    summary: 'Patch data at a path',
    flags: WRITE_FLAGS,
    run: (call) => write(call, 'PATCH', 'Error patching'),
  }),
  defineCommand('list PATH', {
    summary: 'List the keys below a path',
    flags: { detailed: flag.bool('Show what is known about each key.') },
    run: async ({ api, out, at, flags }) => {
      const secret = await api.find(`Error listing ${at}`, 'GET', at, { query: { list: 'true' } })
      return printListing(out, secret, at, flags.detailed)
    },
  }),
  defineCommand('delete PATH [DATA K=V...]', {
    summary: 'Delete data at a path',
    run: async ({ api, out, io, at, args: [, ...pairs] }) => {
      const reply = await api.request(`Error deleting ${at}`, 'DELETE', at, { query: await readQuery(pairs, io) })
      return printWritten(out, reply, `Data deleted (if it existed) at: ${at}`)
    },
  }),
  defineCommand('unwrap [TOKEN]', {
    summary: 'Unwrap a wrapped response, which uses its token',
    run: async ({ api, out, args: [token = ''] }) => {
      const isOther = token !== '' && api.settings.token !== '' && token !== api.settings.token
      const secret = await api.find('Error unwrapping', 'PUT', 'sys/wrapping/unwrap', {
        ...(isOther ? { body: { token } } : token ? { token } : {}),
        isWrapped: false,
      })
      if (!secret) throw remoteError('Could not find wrapped response')
      return out.secret(secret)
    },
  }),
  defineCommand('path-help PATH', {
    summary: 'Print the help of a path',
    run: async ({ api, out, at }) => {
      const { body } = await api.request('Error retrieving help', 'GET', at, { query: { help: '1' } })
      return out.value(body, () => textOfJson(body.help))
    },
  }),
]

const write = async (
  { api, out, io, at, args: [, ...pairs], flags }: Call<typeof WRITE_FLAGS>,
  method: 'PUT' | 'PATCH',
  what: string,
): Promise<number> => {
  if (pairs.length === 0 && !flags.force) throw localError('Must supply data or use -force')
  const body = pairs.length === 0 ? null : await readData(pairs, io)
  return printWritten(out, await api.request(`${what} ${at}`, method, at, { body }), `Data written to: ${at}`)
}

/** Prints the response of a write. Without a body, prints a success message. */
export const printWritten = (out: Output, { secret }: Pick<Reply, 'secret'>, text: string): number =>
  secret ? out.secret(secret) : out.success(text)

export const found = (secret: Secret | undefined, at: string): Secret => {
  if (!secret) throw remoteError(`No value found at ${at}`)
  return secret
}
