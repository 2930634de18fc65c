import { textOfJson } from '../../../base/json-print.js'
import { type Command, defineCommand } from '../command.js'
import { flag } from '../flags.js'
import { isMap } from '../model/json-map.js'
import { textOf } from '../model/secret.js'
import { cleanPath } from '../values.js'
import { configOf, ENABLE_FLAGS, lockoutOf, optionsOf, TUNABLE_FLAGS, USER_LOCKOUT_FLAGS } from './flags.js'
import { moveMount } from './move.js'
import { formatMounts } from './table.js'

const AUTH_TUNABLE_FLAGS = {
  ...TUNABLE_FLAGS,
  'token-type': flag.text('default-service, default-batch, service or batch.'),
} as const

const TUNE_FLAGS = { ...AUTH_TUNABLE_FLAGS, description: flag.text('A text for people.') } as const

export const authCommands: readonly Command[] = [
  defineCommand({
    name: 'auth enable',
    takes: 'TYPE',
    count: [1, 1],
    summary: 'Mount an auth method',
    flags: { ...ENABLE_FLAGS, ...AUTH_TUNABLE_FLAGS },
    run: async ({ api, out, args: [type = ''], flags, isGiven }) => {
      const path = cleanPath(flags.path || flags['plugin-name'] || type)
      const options = optionsOf(flags.options, flags.version)
      const body = {
        type,
        description: flags.description,
        config: configOf(AUTH_TUNABLE_FLAGS, flags, (name) => isGiven(name as keyof typeof AUTH_TUNABLE_FLAGS)),
        local: flags.local,
        ...(flags['plugin-name'] && { plugin_name: flags['plugin-name'] }),
        seal_wrap: flags['seal-wrap'],
        external_entropy_access: flags['external-entropy-access'],
        options,
      }
      await api.request(`Error enabling ${type} auth`, 'POST', `sys/auth/${path}`, { body })
      return out.success(`Enabled ${type} auth method at: ${path}/`)
    },
  }),
  defineCommand({
    name: 'auth list',
    summary: 'List auth methods',
    flags: { detailed: flag.bool('Show all settings.') },
    run: async ({ api, out, flags }) => {
      const { secret } = await api.request('Error listing enabled authentications', 'GET', 'sys/auth')
      const mounts = secret?.data ?? {}
      return out.value(mounts, () => formatMounts(mounts, 'auth', flags.detailed))
    },
  }),
  defineCommand({
    name: 'auth tune',
    takes: 'PATH',
    count: [1, 1],
    summary: 'Change the settings of an auth method',
    flags: {
      ...TUNE_FLAGS,
      ...USER_LOCKOUT_FLAGS,
      options: ENABLE_FLAGS.options,
      version: ENABLE_FLAGS.version,
    },
    run: async ({ api, out, args: [path = ''], flags, isGiven }) => {
      const at = cleanPath(path)
      const isNamed = (name: string) => isGiven(name as keyof typeof flags)
      const options = optionsOf(flags.options, flags.version)
      const body = {
        ...configOf(TUNE_FLAGS, flags, isNamed),
        ...lockoutOf(flags, isNamed),
        ...(options && { options }),
      }
      const { secret } = await api.request(`Error tuning auth method ${at}/`, 'POST', `sys/mounts/auth/${at}/tune`, {
        body,
      })
      if (secret) out.warn(secret)
      return out.success(`Tuned the auth method at: ${at}/`)
    },
  }),
  defineCommand({
    name: 'auth move',
    takes: 'SOURCE DESTINATION',
    count: [2, 2],
    summary: 'Move an auth method to another path',
    run: (call) => {
      const args = call.args.map((path) => cleanPath(path).replace(/^auth\//, ''))
      return moveMount({ ...call, args }, 'auth method', 'auth/')
    },
  }),
  defineCommand({
    name: 'auth disable',
    takes: 'PATH',
    count: [1, 1],
    summary: 'Take an auth method away; its tokens are revoked',
    run: async ({ api, out, args: [path = ''] }) => {
      const at = cleanPath(path)
      await api.request(`Error disabling auth method at ${at}/`, 'DELETE', `sys/auth/${at}`)
      return out.success(`Disabled the auth method (if it existed) at: ${at}/`)
    },
  }),
  defineCommand({
    name: 'auth help',
    takes: 'TYPE | PATH',
    count: [1, 1],
    summary: 'Print what the server says about an auth method',
    run: async ({ api, out, args: [name = ''] }) => {
      const wanted = cleanPath(name)
      const what = 'Error retrieving help'
      const { secret } = await api.request(what, 'GET', 'sys/auth', { isPreliminary: true })
      const mounts = secret?.data ?? {}
      const byType = Object.keys(mounts).find((path) => {
        const mount = mounts[path]
        return isMap(mount) && textOf(mount.type) === wanted
      })
      const path = `${wanted}/` in mounts ? wanted : cleanPath(byType ?? wanted)
      const { body } = await api.request(what, 'GET', `auth/${path}`, { query: { help: '1' } })
      return out.value(body, () => textOfJson(body.help))
    },
  }),
]
