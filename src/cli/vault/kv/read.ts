import { type Command, defineCommand } from '../command.js'
import { localError, remoteError } from '../model/cli-error.js'
import { found } from '../data.js'
import { isMap } from '../model/json-map.js'
import { flag } from '../flags.js'
import { printListing } from '../render/listing.js'
import { findTarget, MOUNT_FLAG } from './target.js'
import { printSecretVersion } from './print.js'

const ONE_PATH = { takes: 'PATH', count: [1, 1] } as const

export const kvReadCommands: readonly Command[] = [
  defineCommand({
    name: 'kv get',
    ...ONE_PATH,
    summary: 'Print a secret',
    flags: { ...MOUNT_FLAG, version: flag.int('Version to read; 0 for the newest.') },
    run: async ({ args: [path = ''], flags, ...call }) => {
      const { api, out } = call
      const target = await findTarget(call, path, flags.mount)
      const at = target.at('data')
      const version = flags.version ? { version: String(flags.version) } : {}
      const query = target.isV2 ? version : {}
      const secret = found(await api.find(`Error reading ${at}`, 'GET', at, { query }), at)
      if (!target.isV2 || secret.wrapInfo) return out.secret(secret)
      if (out.field === '') return printSecretVersion(out, secret, at)
      const data = secret.data?.data
      if (!isMap(data)) throw remoteError(`No data found at ${at}`)
      return out.single(out.field, Object.hasOwn(data, out.field) ? data[out.field] : undefined)
    },
  }),
  defineCommand({
    name: 'kv list',
    takes: '[PATH]',
    count: [0, 1],
    summary: 'List secrets',
    flags: MOUNT_FLAG,
    run: async ({ args: [path = ''], flags, ...call }) => {
      if (path === '' && flags.mount === '') throw localError('Not enough arguments: a path or -mount is needed')
      const at = (await findTarget(call, path, flags.mount)).at('metadata')
      const secret = await call.api.find(`Error listing ${at}`, 'GET', at, { query: { list: 'true' } })
      return printListing(call.out, secret, at)
    },
  }),
]
