import type { LockoutConfig } from './config.js'
import type { FileSettings } from './file.js'
import type { Environment } from './environment.js'
import type { Settled } from './settled.js'

const DEFAULTS: LockoutConfig = { threshold: 5, durationMs: 900_000, counterResetMs: 900_000 }

/** The variable wins, then the reference's stanza, then the switch of our own; in dev mode it is off. */
export const resolveLockout = (
  files: FileSettings,
  env: Environment,
  isDev: boolean,
  settled: Settled,
): LockoutConfig | undefined => {
  const isDisabled = ['true', '1'].includes(env.VAULT_DISABLE_USER_LOCKOUT ?? '')
  const stanza = { ...files.userLockout.all, ...files.userLockout.approle }
  const ours = files.own.user_lockout
  const isOff = settled.flag(
    'user_lockout.disable_lockout',
    [
      isDisabled ? { value: true, origin: 'VAULT_DISABLE_USER_LOCKOUT' } : undefined,
      stanza.disable_lockout,
      typeof ours?.value === 'boolean' ? { value: !ours.value, origin: ours.origin } : undefined,
    ],
    isDev,
  )
  if (isOff) return undefined
  return {
    threshold: settled.number('user_lockout.lockout_threshold', [stanza.lockout_threshold], DEFAULTS.threshold),
    durationMs: settled.durationMs('user_lockout.lockout_duration', [stanza.lockout_duration], DEFAULTS.durationMs),
    counterResetMs: settled.durationMs(
      'user_lockout.lockout_counter_reset',
      [stanza.lockout_counter_reset],
      DEFAULTS.counterResetMs,
    ),
  }
}
