/** Settings of mounts: their flags, and their table. */
import { flag } from '../flags.js'
import { isMap, type JsonMap, textOf } from '../model.js'
import { cellOf, type Column, formatObjects, goText, REPLICATION } from '../text.js'

/** Flags for keys of the mount's configuration. The key is the flag's name with underscores. */
export const TUNABLE_FLAGS = {
  'default-lease-ttl': flag.text('Default lifetime of leases and tokens.'),
  'max-lease-ttl': flag.text('Longest lifetime of leases and tokens.'),
  'listing-visibility': flag.text('unauth, hidden, or empty.'),
  'audit-non-hmac-request-keys': flag.list('Keys of requests that audit devices log as they are.'),
  'audit-non-hmac-response-keys': flag.list('Keys of answers that audit devices log as they are.'),
  'passthrough-request-headers': flag.list('Request headers that the backend gets to see.'),
  'allowed-response-headers': flag.list('Response headers that the backend may set.'),
  'plugin-version': flag.text('Version of the plugin; what is built in has none.'),
} as const

export const USER_LOCKOUT_FLAGS = {
  'user-lockout-threshold': flag.text('Failed logins that lock a user out.'),
  'user-lockout-duration': flag.text('How long a user stays locked out.'),
  'user-lockout-counter-reset-duration': flag.text('Silence after which failed logins are forgotten.'),
  'user-lockout-disable': flag.bool('Disable the user lockout.'),
} as const

export const DESCRIPTION_FLAG = { description: flag.text('A text for people.') } as const

export const OPTION_FLAGS = {
  options: flag.pairs('key=value for the backend; may be repeated.'),
  version: flag.int('Version of the backend, such as 2 for KV.'),
} as const

export const ENABLE_FLAGS = {
  ...TUNABLE_FLAGS,
  path: flag.text('Where to mount it; its type when not given.'),
  ...DESCRIPTION_FLAG,
  'force-no-cache': flag.bool('Do not cache.'),
  local: flag.bool('Keep the mount out of performance replication.'),
  'seal-wrap': flag.bool('Wrap values with the seal.'),
  'external-entropy-access': flag.bool('Accepted; entropy comes from the system.'),
  'plugin-name': flag.text('Name of the plugin; what is built in has none.'),
  ...OPTION_FLAGS,
} as const

const configOf = ({ config }: JsonMap): JsonMap => (isMap(config) ? config : {})

/** Formats a TTL. A mount without its own TTL uses the system's. */
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

/** Formats a table of mounts. `mounts`: by path. */
export const formatMounts = (mounts: JsonMap, kind: 'secrets' | 'auth', isDetailed: boolean): string => {
  const brief: readonly Column[] = kind === 'auth' ? [...BRIEF, ['Version', cellOf('plugin_version')]] : BRIEF
  const detailed = kind === 'auth' ? [...DETAILED.slice(0, 4), TOKEN_TYPE, ...DETAILED.slice(5)] : DETAILED
  return formatObjects('Path', mounts, isDetailed ? detailed : brief)
}
