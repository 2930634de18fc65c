import { DEFAULT_LOCKOUT, type LockoutSettings } from '../../logical/lockout-settings.js'
import { LOCKABLE_METHODS, type LockableMethod } from './config.js'
import type { ConfigSources } from './sources.js'

/** Resolves the lockout settings of each method separately. */
export const resolveLockouts = (
  sources: ConfigSources,
  isDev: boolean,
): Record<LockableMethod, LockoutSettings | undefined> => {
  const resolve = (method: LockableMethod) => resolveLockout(sources, method, isDev)
  return Object.fromEntries(LOCKABLE_METHODS.map((method) => [method, resolve(method)])) as Record<
    LockableMethod,
    LockoutSettings | undefined
  >
}

/**
 * Resolves one method's lockout. The environment variable takes precedence, then Vault's stanza, then Understudy's switch.
 * Off in dev mode.
 */
const resolveLockout = (
  { files, env, settled }: ConfigSources,
  method: LockableMethod,
  isDev: boolean,
): LockoutSettings | undefined => {
  const isDisabled = ['true', '1'].includes(env.VAULT_DISABLE_USER_LOCKOUT ?? '')
  const stanza = { ...files.userLockout.all, ...files.userLockout[method] }
  const ours = files.own.user_lockout
  const name = (key: string) => `user_lockout.${method}.${key}`
  const isOff = settled.flag(
    name('disable_lockout'),
    [
      isDisabled ? { value: true, origin: 'VAULT_DISABLE_USER_LOCKOUT' } : undefined,
      stanza.disable_lockout,
      typeof ours?.value === 'boolean' ? { value: !ours.value, origin: ours.origin } : undefined,
    ],
    isDev,
  )
  if (isOff) return undefined
  return {
    threshold: settled.number(name('lockout_threshold'), [stanza.lockout_threshold], DEFAULT_LOCKOUT.threshold),
    durationMs: settled.durationMs(name('lockout_duration'), [stanza.lockout_duration], DEFAULT_LOCKOUT.durationMs),
    counterResetMs: settled.durationMs(
      name('lockout_counter_reset'),
      [stanza.lockout_counter_reset],
      DEFAULT_LOCKOUT.counterResetMs,
    ),
  }
}
