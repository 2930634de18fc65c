import { parseDurationMs, wholeSeconds } from '../../base/duration.js'
import { invalid } from '../../logical/errors.js'
import { parseBool } from '../../logical/field-values.js'
import { isJsonObject, RawNumber } from '../../base/json.js'
import type { JsonValue } from '../../logical/json.js'
import type { MountConfig, MountKind, MountTokenType } from './mount-entry.js'

type ConfigInput = { readonly [key: string]: JsonValue }

/** The lists in the configuration of a mount: the name in the API and the property of `MountConfig`. */
const LISTS = {
  audit_non_hmac_request_keys: 'auditNonHmacRequestKeys',
  audit_non_hmac_response_keys: 'auditNonHmacResponseKeys',
  passthrough_request_headers: 'passthroughRequestHeaders',
  allowed_response_headers: 'allowedResponseHeaders',
} as const

const VISIBILITIES: ReadonlySet<string> = new Set(['', 'unauth', 'hidden'])
const TOKEN_TYPES: ReadonlySet<string> = new Set(['default-service', 'default-batch', 'service', 'batch'])

const asText = (value: JsonValue): string =>
  value === null
    ? ''
    : value instanceof RawNumber
      ? value.text
      : typeof value === 'object'
        ? JSON.stringify(value)
        : String(value)

/**
 * Parses a TTL into seconds. Returns 0 for `system` and for an empty value: the mount then has the TTL of the system.
 * Throws LogicalError 400 for an invalid TTL.
 */
const parseTtl = (value: JsonValue, name: 'default' | 'max'): number => {
  const text = asText(value).trim()
  if (text === '' || text === 'system') return 0
  const ms = parseDurationMs(text)
  if (ms === undefined) throw invalid(`unable to parse ${name} TTL of ${text}: invalid duration "${text}"`)
  if (ms < 0) throw invalid(`${name} lease TTL cannot be negative: ${text}`)
  return ms / 1000
}

const parseList = (value: JsonValue): string[] => {
  if (Array.isArray(value)) return value.map((item) => asText(item).trim())
  const text = asText(value)
  return text === '' ? [] : text.split(',').map((item) => item.trim())
}

/**
 * Merges the changes of `input` into `current`. A setting that is absent from `input` stays unchanged, and an empty
 * list removes its setting. Throws LogicalError 400 with the text of Vault for an invalid value.
 */
export const applyMountConfig = (
  current: MountConfig,
  input: ConfigInput,
  kind: MountKind,
  type: string,
): MountConfig => {
  const next: { -readonly [K in keyof MountConfig]: MountConfig[K] } = { ...current }
  const has = (name: string) => input[name] !== undefined && input[name] !== null
  if (has('default_lease_ttl')) next.defaultLeaseTtlSeconds = parseTtl(input.default_lease_ttl ?? null, 'default')
  if (has('max_lease_ttl')) next.maxLeaseTtlSeconds = parseTtl(input.max_lease_ttl ?? null, 'max')
  if (has('force_no_cache')) next.forceNoCache = parseBool(asText(input.force_no_cache ?? null)) ?? false
  if (has('listing_visibility')) {
    const visibility = asText(input.listing_visibility ?? null)
    if (!VISIBILITIES.has(visibility)) throw invalid(`invalid listing_visibility ${visibility}`)
    if (visibility === '') delete next.listingVisibility
    else next.listingVisibility = visibility
  }
  for (const [name, property] of Object.entries(LISTS) as [keyof typeof LISTS, (typeof LISTS)[keyof typeof LISTS]][]) {
    if (!has(name)) continue
    const list = parseList(input[name] ?? null)
    if (list.length === 0) delete next[property]
    else next[property] = list
  }
  if (has('token_type')) {
    const word = asText(input.token_type ?? null)
    if (word !== '') next.tokenType = parseTokenType(word, kind, type)
    else if (kind === 'auth') next.tokenType = 'default-service'
  }
  const lockout = input.user_lockout_config
  if (isJsonObject(lockout)) next.userLockout = mergeLockout(next.userLockout, lockout, type)
  return next
}

/** The auth methods that lock users. */
const LOCKING_TYPES: ReadonlySet<string> = new Set(['approle', 'ldap', 'userpass'])

const LOCKOUT_DURATIONS = ['lockout_duration', 'lockout_counter_reset_duration'] as const

const mergeLockout = (current: MountConfig['userLockout'], input: ConfigInput, type: string) => {
  if (!LOCKING_TYPES.has(type)) {
    throw invalid(`tuning of user lockout configuration for auth type ${JSON.stringify(type)} not allowed`)
  }
  const next: Record<string, unknown> = { ...current }
  const textOf = (name: string) => asText(input[name] ?? null)
  const threshold = textOf('lockout_threshold')
  if (threshold !== '') {
    if (!/^\d+$/.test(threshold)) {
      throw invalid(`unable to parse user lockout threshold: strconv.ParseUint: parsing "${threshold}": invalid syntax`)
    }
    next.lockout_threshold = Number(threshold)
  }
  for (const name of LOCKOUT_DURATIONS) {
    const text = textOf(name)
    if (text === '') continue
    const ms = parseDurationMs(text)
    if (ms === undefined) throw invalid(`time: invalid duration "${text}"`)
    next[name] = wholeSeconds(ms / 1000)
  }
  const disable = textOf('lockout_disable')
  if (disable !== '') {
    next.lockout_disable = parseBool(disable)
    if (next.lockout_disable === undefined)
      throw invalid(`lockout_disable is not a boolean: ${JSON.stringify(disable)}`)
  }
  return Object.keys(next).length > 0 ? next : undefined
}

const parseTokenType = (text: string, kind: MountKind, type: string): MountTokenType => {
  if (kind !== 'auth') throw invalid("'token_type' can only be modified on auth mounts")
  if (type === 'token') throw invalid("'token_type' cannot be set for 'token' or 'ns_token' auth mounts")
  if (!TOKEN_TYPES.has(text)) throw invalid("invalid value for 'token_type'")
  return text as MountTokenType
}

/** Returns the `config` of a mount as the API shows it. Lists and visibility appear only if they are set. */
export const renderMountConfig = (config: MountConfig): Record<string, unknown> => {
  const out: Record<string, unknown> = {
    default_lease_ttl: wholeSeconds(config.defaultLeaseTtlSeconds),
    force_no_cache: config.forceNoCache,
    max_lease_ttl: wholeSeconds(config.maxLeaseTtlSeconds),
  }
  for (const [name, property] of Object.entries(LISTS)) {
    const list = config[property]
    if (list) out[name] = list
  }
  if (config.listingVisibility) out.listing_visibility = config.listingVisibility
  if (config.tokenType) out.token_type = config.tokenType
  if (config.userLockout) out.user_lockout_config = renderLockout(config.userLockout)
  return out
}

const renderLockout = (lockout: NonNullable<MountConfig['userLockout']>): Record<string, unknown> => ({
  user_lockout_counter_reset_duration: lockout.lockout_counter_reset_duration ?? 0,
  user_lockout_disable: lockout.lockout_disable ?? false,
  user_lockout_duration: lockout.lockout_duration ?? 0,
  user_lockout_threshold: lockout.lockout_threshold ?? 0,
})
