/** Mount settings as flags, and as the bodies of enable and tune. */
import { flag, type FlagTable } from '../flags.js'

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

export const ENABLE_FLAGS = {
  ...TUNABLE_FLAGS,
  path: flag.text('Where to mount it; its type when not given.'),
  description: flag.text('A text for people.'),
  'force-no-cache': flag.bool('Do not cache.'),
  local: flag.bool('Keep the mount out of performance replication.'),
  'seal-wrap': flag.bool('Wrap values with the seal.'),
  'external-entropy-access': flag.bool('Accepted; entropy comes from the system.'),
  'plugin-name': flag.text('Name of the plugin; what is built in has none.'),
  options: flag.pairs('key=value for the backend; may be repeated.'),
  version: flag.int('Version of the backend, such as 2 for KV.'),
} as const

type Given = (name: string) => boolean
type Values = Readonly<Record<string, unknown>>

/** Returns the configuration from the command line. Keys that are not given are omitted and stay unchanged. */
export const configOf = (table: FlagTable, flags: Values, isGiven: Given): Record<string, unknown> =>
  Object.fromEntries(
    Object.keys(table)
      .filter(isGiven)
      .map((name) => [name.replaceAll('-', '_'), flags[name]]),
  )

/** Maps the flags of user lockout to their keys in the configuration. */
const LOCKOUT_KEYS: Readonly<Record<keyof typeof USER_LOCKOUT_FLAGS, string>> = {
  'user-lockout-threshold': 'lockout_threshold',
  'user-lockout-duration': 'lockout_duration',
  'user-lockout-counter-reset-duration': 'lockout_counter_reset',
  'user-lockout-disable': 'lockout_disable',
}

export const lockoutOf = (flags: Values, isGiven: Given): Record<string, unknown> => {
  const given = Object.entries(LOCKOUT_KEYS).filter(([name]) => isGiven(name))
  const config = Object.fromEntries(given.map(([name, key]) => [key, flags[name]]))
  return given.length > 0 ? { user_lockout_config: config } : {}
}

export const optionsOf = (
  options: Readonly<Record<string, string>>,
  version: number | undefined,
): Readonly<Record<string, string>> | null => {
  const all = version === undefined ? options : { ...options, version: String(version) }
  return Object.keys(all).length > 0 ? all : null
}
