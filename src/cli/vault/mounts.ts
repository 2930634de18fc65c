/** The commands of `secrets` and `auth`, which are the same commands for two kinds of mounts. */
import { textOfJson } from '../../base/json-print.js'
import { type Command, command, givenFields, type Session } from './command.js'
import { DETAILED_FLAG, flag, type FlagTable, type FlagValues } from './flags.js'
import { isMap, type JsonMap, remoteError, textOf } from './model.js'
import { cellOf, type Column, formatObjects, goText, REPLICATION } from './text.js'
import { cleanPath } from './values.js'

/** Flags that set a key of the mount's configuration. The key is the name of the flag with `_` instead of `-`. */
const TUNABLE_FLAGS = {
  'default-lease-ttl': flag.text('Default lifetime of leases and tokens.'),
  'max-lease-ttl': flag.text('Maximum lifetime of leases and tokens.'),
  'listing-visibility': flag.text('Whether clients without a token see the mount: unauth (yes), hidden or empty (no).'),
  'audit-non-hmac-request-keys': flag.list('Request keys that audit devices log unhashed.'),
  'audit-non-hmac-response-keys': flag.list('Response keys that audit devices log unhashed.'),
  'passthrough-request-headers': flag.list('Request headers that are passed to the backend.'),
  'allowed-response-headers': flag.list('Response headers that the backend may set.'),
  'plugin-version': flag.text('Version of the plugin. Built-in backends have none.'),
} as const

const USER_LOCKOUT_FLAGS = {
  'user-lockout-threshold': flag.text('Number of failed logins that lock a user out.'),
  'user-lockout-duration': flag.text('Duration of the lockout.'),
  'user-lockout-counter-reset-duration': flag.text('Time without failed logins after which the count is reset.'),
  'user-lockout-disable': flag.bool('Disable the user lockout.'),
} as const

const DESCRIPTION_FLAG = { description: flag.text('Description for operators.') } as const

const OPTION_FLAGS = {
  options: flag.pairs('Option of the backend as key=value; may be repeated.'),
  version: flag.int('Version of the backend, such as 2 for KV.'),
} as const

const ENABLE_FLAGS = {
  ...TUNABLE_FLAGS,
  path: flag.text('Mount path. Default: the type.'),
  ...DESCRIPTION_FLAG,
  'force-no-cache': flag.bool('Disable caching.'),
  local: flag.bool('Exclude the mount from performance replication.'),
  'seal-wrap': flag.bool('Wrap values with the seal.'),
  'external-entropy-access': flag.bool('Accepted without effect: random numbers come from the operating system.'),
  'plugin-name': flag.text('Name of the plugin. Built-in backends have none.'),
  ...OPTION_FLAGS,
} as const

const configOf = ({ config }: JsonMap): JsonMap => (isMap(config) ? config : {})

/** Formats a TTL of a mount. A mount without a TTL uses the TTL of the system. */
const lifetime = (value: unknown): string => (Number(goText(value ?? 0)) === 0 ? 'system' : goText(value))

const BRIEF: readonly Column[] = [
  ['Type', cellOf('type')],
  ['Accessor', cellOf('accessor')],
  ['Description', cellOf('description')],
]

const DETAILED: readonly Column[] = [
  ['Plugin', cellOf('type')],
  ['Accessor', cellOf('accessor')],
  ['Default TTL', (mount) => lifetime(configOf(mount).default_lease_ttl)],
  ['Max TTL', (mount) => lifetime(configOf(mount).max_lease_ttl)],
  ['Force No Cache', (mount) => goText(configOf(mount).force_no_cache ?? false)],
  REPLICATION,
  ['Seal Wrap', cellOf('seal_wrap')],
  ['External Entropy Access', cellOf('external_entropy_access')],
  ['Options', (mount) => goText(mount.options ?? {})],
  ['Description', cellOf('description')],
  ['UUID', cellOf('uuid')],
  ['Version', cellOf('plugin_version')],
  ['Running Version', cellOf('running_plugin_version')],
  ['Running SHA256', cellOf('running_sha256')],
  ['Deprecation Status', cellOf('deprecation_status')],
]

const TOKEN_TYPE: Column = ['Token Type', (mount) => textOf(configOf(mount).token_type)]

/** Formats a table of mounts. The keys of `mounts` are their paths. */
const formatMounts = (mounts: JsonMap, kind: 'secrets' | 'auth', isDetailed: boolean): string => {
  const brief: readonly Column[] = kind === 'auth' ? [...BRIEF, ['Version', cellOf('plugin_version')]] : BRIEF
  const detailed = kind === 'auth' ? [...DETAILED.slice(0, 4), TOKEN_TYPE, ...DETAILED.slice(5)] : DETAILED
  return formatObjects('Path', mounts, isDetailed ? detailed : brief)
}

interface MountKind {
  readonly name: 'secrets' | 'auth'
  /** The name of the kind in messages. `one` is the same name with its article. */
  readonly noun: string
  readonly one: string
  /** The API path that manages the mounts of this kind. `prefix` is the start of their mount paths. */
  readonly base: string
  readonly prefix: '' | 'auth/'
  readonly tunable: FlagTable
  readonly lockout: FlagTable
  readonly listError: string
  readonly disableSummary: string
}

const SECRETS: MountKind = {
  name: 'secrets',
  noun: 'secrets engine',
  one: 'a secrets engine',
  base: 'sys/mounts',
  prefix: '',
  tunable: {},
  lockout: {},
  listError: 'Error listing secrets engines',
  disableSummary: 'Disable a secrets engine and delete its data',
}

const AUTH: MountKind = {
  name: 'auth',
  noun: 'auth method',
  one: 'an auth method',
  base: 'sys/auth',
  prefix: 'auth/',
  tunable: { 'token-type': flag.text('default-service, default-batch, service or batch.') },
  lockout: USER_LOCKOUT_FLAGS,
  listError: 'Error listing enabled authentications',
  disableSummary: 'Disable an auth method and revoke its tokens',
}

const commandsOf = ({ name, noun, one, base, prefix, tunable, lockout, ...texts }: MountKind): Command[] => [
  command(`${name} enable TYPE`, `Enable ${one}`, { ...ENABLE_FLAGS, ...tunable }, async (call) => {
    const { api, out, args, flags } = call
    const [type = ''] = args
    const path = cleanPath(flags.path || flags['plugin-name'] || type)
    const body = {
      type,
      description: flags.description,
      config: {
        ...givenFields(call, { ...TUNABLE_FLAGS, ...tunable }),
        ...(name === 'secrets' && { force_no_cache: flags['force-no-cache'] }),
      },
      local: flags.local,
      ...(flags['plugin-name'] && { plugin_name: flags['plugin-name'] }),
      seal_wrap: flags['seal-wrap'],
      external_entropy_access: flags['external-entropy-access'],
      options: optionsOf(flags),
    }
    const what = name === 'secrets' ? 'Error enabling' : `Error enabling ${type} auth`
    await api.request(what, 'POST', `${base}/${path}`, { body })
    return out.success(`Enabled ${name === 'secrets' ? 'the ' : ''}${type} ${noun} at: ${path}/`)
  }),
  command(`${name} list`, `List ${noun}s`, DETAILED_FLAG, async ({ api, out, flags }) => {
    const { secret } = await api.request(texts.listError, 'GET', base)
    const mounts = secret?.data ?? {}
    return out.value(mounts, () => formatMounts(mounts, name, flags.detailed))
  }),
  command(
    `${name} tune PATH`,
    `Change the settings of ${one}`,
    { ...TUNABLE_FLAGS, ...tunable, ...DESCRIPTION_FLAG, ...lockout, ...OPTION_FLAGS },
    async (call) => {
      const { api, out, at } = call
      const options = optionsOf(call.flags)
      const lockoutConfig = Object.entries(givenFields(call, lockout)).map(([key, value]) => [
        key.replace('user_', '').replace('_reset_duration', '_reset'),
        value,
      ])
      const body = {
        ...givenFields(call, { ...TUNABLE_FLAGS, ...tunable, ...DESCRIPTION_FLAG }),
        ...(lockoutConfig.length > 0 && { user_lockout_config: Object.fromEntries(lockoutConfig) }),
        ...(options && { options }),
      }
      const { secret } = await api.request(`Error tuning ${noun} ${at}/`, 'POST', `sys/mounts/${prefix}${at}/tune`, {
        body,
      })
      return out.success(`Tuned the ${noun} at: ${at}/`, secret)
    },
  ),
  command(`${name} move SOURCE DESTINATION`, `Move ${one} to another path`, async (call) => {
    const { api, out } = call
    const [from = '', to = ''] = call.args.map((path) => {
      const at = cleanPath(path)
      return `${at.startsWith(prefix) ? at.slice(prefix.length) : at}/`
    })
    const what = `Error moving ${noun} ${from} to ${to}`
    const body = { from: prefix + from, to: prefix + to }
    const { secret } = await api.request(what, 'POST', 'sys/remount', { body })
    const id = textOf(secret?.data?.migration_id)
    if (out.isTable) out.line(`Started moving ${noun} ${from} to ${to}, with migration ID ${id}`)
    await untilMoved(call, what, id)
    return out.success(`Finished moving ${noun} ${from} to ${to}, with migration ID ${id}`)
  }),
  command(`${name} disable PATH`, texts.disableSummary, async ({ api, out, at }) => {
    await api.request(`Error disabling ${noun} at ${at}/`, 'DELETE', `${base}/${at}`)
    return out.success(`Disabled the ${noun} (if it existed) at: ${at}/`)
  }),
]

export const mountCommands: readonly Command[] = [
  ...commandsOf(SECRETS),
  ...commandsOf(AUTH),
  command('auth help TYPE | PATH', 'Print the help of an auth method', async ({ api, out, at: wanted }) => {
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
  }),
]

/** Returns the backend options of a mount, or null if there are none. */
const optionsOf = ({ options, version }: FlagValues<typeof OPTION_FLAGS>) => {
  const all = version === undefined ? options : { ...options, version: String(version) }
  return Object.keys(all).length > 0 ? all : null
}

const POLL_MS = 250

const untilMoved = async ({ api, io }: Session, what: string, id: string): Promise<void> => {
  for (;;) {
    const { secret } = await api.request(what, 'GET', `sys/remount/status/${id}`)
    const info = secret?.data?.migration_info
    const status = isMap(info) ? info.status : undefined
    if (status === 'success') return
    if (status !== 'in-progress') throw remoteError(`${what}: the move ended with status ${goText(status)}`)
    await io.clock.sleep(POLL_MS)
  }
}
