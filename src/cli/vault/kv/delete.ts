import { type Call, type Command, defineCommand } from '../command.js'
import { localError } from '../model/cli-error.js'
import { printWritten } from '../data.js'
import { flag } from '../flags.js'
import { findTarget, MOUNT_FLAG, requireV2 } from './target.js'

const VERSIONS_FLAGS = {
  ...MOUNT_FLAG,
  versions: flag.list('Numbers of the versions, with commas between them; may be repeated.'),
} as const

const ONE_PATH = { takes: 'PATH', count: [1, 1] } as const

export const kvDeleteCommands: readonly Command[] = [
  defineCommand({
    name: 'kv delete',
    ...ONE_PATH,
    summary: 'Delete a secret; on KV v2 its newest version or the given ones, which can be undone',
    flags: VERSIONS_FLAGS,
    run: async ({ args: [path = ''], flags, ...call }) => {
      const { api, out } = call
      const target = await findTarget(call, path, flags.mount)
      const { versions } = flags
      if (versions.length > 0) requireV2(target, '-versions')
      const at = target.at('data')
      const what = `Error deleting ${at}`
      const reply =
        versions.length > 0
          ? await api.request(what, 'PUT', target.at('delete'), { body: { versions } })
          : await api.request(what, 'DELETE', at)
      return printWritten(out, reply, `Data deleted (if it existed) at: ${at}`)
    },
  }),
  defineCommand({
    name: 'kv undelete',
    ...ONE_PATH,
    summary: 'Bring deleted versions back',
    flags: VERSIONS_FLAGS,
    run: (call) => changeVersions(call, 'undelete'),
  }),
  defineCommand({
    name: 'kv destroy',
    ...ONE_PATH,
    summary: 'Destroy the data of versions for good',
    flags: VERSIONS_FLAGS,
    run: (call) => changeVersions(call, 'destroy'),
  }),
]

const changeVersions = async (
  { args: [path = ''], flags, ...call }: Call<typeof VERSIONS_FLAGS>,
  verb: 'undelete' | 'destroy',
): Promise<number> => {
  if (flags.versions.length === 0) throw localError('No versions provided, use the "-versions" flag to specify them')
  const target = await findTarget(call, path, flags.mount)
  requireV2(target, verb)
  const at = target.at(verb)
  const reply = await call.api.request(`Error writing data to ${at}`, 'PUT', at, { body: { versions: flags.versions } })
  return printWritten(call.out, reply, `Data written to: ${at}`)
}
