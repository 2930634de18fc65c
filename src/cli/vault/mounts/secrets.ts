import { type Command, defineCommand } from '../command.js'
import { flag } from '../flags.js'
import { cleanPath } from '../values.js'
import { configOf, ENABLE_FLAGS, optionsOf, TUNABLE_FLAGS } from './flags.js'
import { moveMount } from './move.js'
import { formatMounts } from './table.js'

const TUNE_FLAGS = {
  ...TUNABLE_FLAGS,
  description: flag.text('A text for people.'),
} as const

export const secretsCommands: readonly Command[] = [
  defineCommand({
    name: 'secrets enable',
    takes: 'TYPE',
    count: [1, 1],
    summary: 'Mount a secret engine',
    flags: ENABLE_FLAGS,
    run: async ({ api, out, args: [type = ''], flags, isGiven }) => {
      const path = cleanPath(flags.path || flags['plugin-name'] || type)
      const body = {
        type,
        description: flags.description,
        config: {
          ...configOf(TUNABLE_FLAGS, flags, (name) => isGiven(name as keyof typeof ENABLE_FLAGS)),
          force_no_cache: flags['force-no-cache'],
        },
        local: flags.local,
        ...(flags['plugin-name'] && { plugin_name: flags['plugin-name'] }),
        seal_wrap: flags['seal-wrap'],
        external_entropy_access: flags['external-entropy-access'],
        options: optionsOf(flags.options, flags.version),
      }
      await api.request('Error enabling', 'POST', `sys/mounts/${path}`, { body })
      return out.success(`Enabled the ${type} secrets engine at: ${path}/`)
    },
  }),
  defineCommand({
    name: 'secrets list',
    summary: 'List secret engines',
    flags: { detailed: flag.bool('Show all settings.') },
    run: async ({ api, out, flags }) => {
      const { secret } = await api.request('Error listing secrets engines', 'GET', 'sys/mounts')
      const mounts = secret?.data ?? {}
      return out.value(mounts, () => formatMounts(mounts, 'secrets', flags.detailed))
    },
  }),
  defineCommand({
    name: 'secrets tune',
    takes: 'PATH',
    count: [1, 1],
    summary: 'Change the settings of a secret engine',
    flags: { ...TUNE_FLAGS, options: ENABLE_FLAGS.options, version: ENABLE_FLAGS.version },
    run: async ({ api, out, args: [path = ''], flags, isGiven }) => {
      const at = cleanPath(path)
      const options = optionsOf(flags.options, flags.version)
      const body = {
        ...configOf(TUNE_FLAGS, flags, (name) => isGiven(name as keyof typeof TUNE_FLAGS)),
        ...(options && { options }),
      }
      const what = `Error tuning secrets engine ${at}/`
      const { secret } = await api.request(what, 'POST', `sys/mounts/${at}/tune`, { body })
      if (secret) out.warn(secret)
      return out.success(`Tuned the secrets engine at: ${at}/`)
    },
  }),
  defineCommand({
    name: 'secrets move',
    takes: 'SOURCE DESTINATION',
    count: [2, 2],
    summary: 'Move a secret engine to another path',
    run: (call) => moveMount(call, 'secrets engine', ''),
  }),
  defineCommand({
    name: 'secrets disable',
    takes: 'PATH',
    count: [1, 1],
    summary: 'Take a secret engine away, with all it holds',
    run: async ({ api, out, args: [path = ''] }) => {
      const at = cleanPath(path)
      await api.request(`Error disabling secrets engine at ${at}/`, 'DELETE', `sys/mounts/${at}`)
      return out.success(`Disabled the secrets engine (if it existed) at: ${at}/`)
    },
  }),
]
