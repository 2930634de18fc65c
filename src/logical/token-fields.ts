/**
 * The `token_*` parameters that the roles and users of all auth methods have: their field table, their record and their
 * validation.
 */
import { wholeSeconds } from '../base/duration.js'
import { parseBoundCidrs } from './bound-cidrs.js'
import { type Call, sentBy } from './backend.js'
import { invalid } from './errors.js'
import { bool, commaList, duration, type FieldTable, int, string } from './fields.js'
import type { LoginAuth, RenewalTimes } from './request.js'

export const TOKEN_FIELDS = {
  token_policies: commaList('Policies of the issued tokens.'),
  token_ttl: duration('TTL of the tokens. A renewal uses the current value.'),
  token_max_ttl: duration('Maximum TTL of the tokens with all renewals. A renewal uses the current value.'),
  token_explicit_max_ttl: duration('Maximum TTL that is fixed when the token is issued.'),
  token_period: duration('Period of the tokens: each renewal sets their TTL to this value.'),
  token_num_uses: int('Number of uses of a token; 0 means unlimited.'),
  token_no_default_policy: bool('Omits the policy `default` from the tokens.'),
  token_bound_cidrs: commaList('CIDR blocks from which clients can log in and use the tokens.'),
  token_type: string('Token type: service, batch, or default, which means the setting of the mount.', 'default'),
} as const satisfies FieldTable

type TokenFieldTable = typeof TOKEN_FIELDS

/** The stored token settings of a role or user. Durations are in whole seconds, with 0 for not set. */
export interface TokenSettings {
  readonly policies: readonly string[]
  readonly ttlSeconds: number
  readonly maxTtlSeconds: number
  readonly explicitMaxTtlSeconds: number
  readonly periodSeconds: number
  readonly numUses: number
  readonly noDefaultPolicy: boolean
  /**
   * CIDR blocks in canonical form: a single address has no prefix length, host bits stay as the client wrote them. Null
   * if never set.
   */
  readonly boundCidrs: readonly string[] | null
  readonly type: LoginAuth['tokenType']
}

export const DEFAULT_TOKEN_SETTINGS: TokenSettings = {
  policies: [],
  ttlSeconds: 0,
  maxTtlSeconds: 0,
  explicitMaxTtlSeconds: 0,
  periodSeconds: 0,
  numUses: 0,
  noDefaultPolicy: false,
  boundCidrs: null,
  type: 'default',
}

/**
 * The values of `token_type`. `default-service` and `default-batch` are meant for token roles. Here they mean `service`
 * and `batch`, with a warning.
 */
const TOKEN_TYPES: Readonly<Record<string, { type: LoginAuth['tokenType']; warning?: string }>> = {
  '': { type: 'default' },
  default: { type: 'default' },
  service: { type: 'service' },
  batch: { type: 'batch' },
  'default-service': {
    type: 'service',
    warning: 'default-service has no useful meaning; adjusting to service',
  },
  'default-batch': { type: 'batch', warning: 'default-batch has no useful meaning; adjusting to batch' },
}

/** Merges the fields of a request into `current`. Throws LogicalError 400 if a field or the result is invalid. */
export const applyTokenFields = (
  call: Pick<Call<TokenFieldTable>, 'values' | 'supplied'>,
  current: TokenSettings,
): { settings: TokenSettings; warnings: string[] } => {
  const sent = sentBy(call)
  const [type, blocks] = [sent('token_type'), sent('token_bound_cidrs')]
  const word = type === undefined ? { type: current.type } : parseTokenType(type)
  const settings: TokenSettings = {
    policies: sent('token_policies') ?? current.policies,
    ttlSeconds: sent('token_ttl') ?? current.ttlSeconds,
    maxTtlSeconds: sent('token_max_ttl') ?? current.maxTtlSeconds,
    explicitMaxTtlSeconds: sent('token_explicit_max_ttl') ?? current.explicitMaxTtlSeconds,
    periodSeconds: sent('token_period') ?? current.periodSeconds,
    numUses: sent('token_num_uses') ?? current.numUses,
    noDefaultPolicy: sent('token_no_default_policy') ?? current.noDefaultPolicy,
    boundCidrs: blocks ? parseBoundCidrs(blocks) : current.boundCidrs,
    type: word.type,
  }
  checkTokenSettings(settings)
  return { settings, warnings: word.warning === undefined ? [] : [word.warning] }
}

const parseTokenType = (text: string): { type: LoginAuth['tokenType']; warning?: string } => {
  const known = Object.hasOwn(TOKEN_TYPES, text) ? TOKEN_TYPES[text] : undefined
  if (!known) throw invalid(`invalid 'token_type' value ${JSON.stringify(text)}`)
  return known
}

/** Validates all settings, including those that did not change. Throws LogicalError 400. */
export const checkTokenSettings = (settings: TokenSettings): void => {
  const broken = TOKEN_RULES.find((rule) => rule.isBroken(settings))
  if (broken) throw invalid(broken.message)
}

const TOKEN_RULES: readonly { readonly isBroken: (settings: TokenSettings) => boolean; readonly message: string }[] = [
  { isBroken: (s) => s.maxTtlSeconds < 0, message: "'token_max_ttl' cannot be negative" },
  { isBroken: (s) => s.periodSeconds < 0, message: "'token_period' cannot be negative" },
  { isBroken: (s) => s.numUses < 0, message: "'token_num_uses' cannot be negative" },
  {
    isBroken: (s) => s.type === 'batch' && s.periodSeconds > 0,
    message: "'token_type' cannot be 'batch' or 'default_batch' when set to generate periodic tokens",
  },
  {
    isBroken: (s) => s.type === 'batch' && s.numUses > 0,
    message: "'token_type' cannot be 'batch' or 'default_batch' when set to generate tokens with limited use count",
  },
  {
    isBroken: (s) => s.maxTtlSeconds > 0 && s.ttlSeconds > s.maxTtlSeconds,
    message: "'token_ttl' cannot be greater than 'token_max_ttl'",
  },
]

/** Returns the settings as read responses contain them. */
export const tokenFieldsData = (settings: TokenSettings): Record<keyof TokenFieldTable, unknown> => ({
  token_bound_cidrs: settings.boundCidrs ?? [],
  token_explicit_max_ttl: wholeSeconds(settings.explicitMaxTtlSeconds),
  token_max_ttl: wholeSeconds(settings.maxTtlSeconds),
  token_no_default_policy: settings.noDefaultPolicy,
  token_num_uses: settings.numUses,
  token_period: wholeSeconds(settings.periodSeconds),
  token_policies: settings.policies,
  token_ttl: wholeSeconds(settings.ttlSeconds),
  token_type: settings.type,
})

/**
 * The fields of a login that do not come from the token settings of the role or user. `boundCidrs` overrides the
 * settings.
 */
type LoginRest = Pick<LoginAuth, 'displayName' | 'metadata' | 'internal'> &
  Required<Pick<LoginAuth, 'alias'>> & { readonly boundCidrs?: string[] | undefined }

/**
 * Builds the login for the core. Copies field by field, because spread syntax for so many fields takes longer than the
 * lookups of the login.
 */
export const loginAuth = (settings: TokenSettings, rest: LoginRest): LoginAuth => ({
  displayName: rest.displayName,
  metadata: rest.metadata,
  alias: rest.alias,
  internal: rest.internal,
  policies: [...settings.policies],
  tokenType: settings.type,
  ttlSeconds: settings.ttlSeconds,
  maxTtlSeconds: settings.maxTtlSeconds,
  explicitMaxTtlSeconds: settings.explicitMaxTtlSeconds,
  periodSeconds: settings.periodSeconds,
  numUses: settings.numUses,
  boundCidrs: rest.boundCidrs ?? [...(settings.boundCidrs ?? [])],
  noDefaultPolicy: settings.noDefaultPolicy,
})

/** Returns the TTLs that a renewal applies. The explicit maximum of a token stays as issued. */
export const renewalTimes = ({ ttlSeconds, maxTtlSeconds, periodSeconds }: TokenSettings): RenewalTimes => ({
  ttlSeconds,
  maxTtlSeconds,
  periodSeconds,
})

/** A setting with a new and an old name. `remembered` is set if the last write used the old name. */
export interface Renamed<T> {
  readonly value: T
  readonly remembered: T | undefined
}

/**
 * Merges a setting that has two names. A value in `sent` is undefined if the request does not contain that name.
 *
 * - Only the old name was sent: its value becomes the value, and is remembered under the old name.
 * - Only the new name was sent: its value becomes the value, and nothing is remembered.
 * - Both names were sent: the value of the new name becomes the value, and is remembered under the old name.
 */
export const applyRenamed = <T>(sent: { old: T | undefined; new: T | undefined }, current: Renamed<T>): Renamed<T> => {
  if (sent.new !== undefined) return { value: sent.new, remembered: sent.old === undefined ? undefined : sent.new }
  return sent.old === undefined ? current : { value: sent.old, remembered: sent.old }
}

/** The settings that have a deprecated name in some auth methods. */
type RenamedName = 'policies' | 'ttlSeconds' | 'maxTtlSeconds' | 'periodSeconds' | 'numUses' | 'boundCidrs'

/** The settings whose last write used their deprecated name. Read responses contain them under this name too. */
export type OldNames = Partial<Pick<TokenSettings, RenamedName>>

/**
 * Merges settings into a record like `applyRenamed`. `old` and `new` are the values under the deprecated and the
 * current name.
 */
export const applyOldNames = <R extends { readonly token: TokenSettings; readonly old: OldNames }>(
  record: R,
  sent: { readonly [N in RenamedName]?: { old?: TokenSettings[N] | undefined; new: TokenSettings[N] | undefined } },
): R => {
  const token: TokenSettings = { ...record.token }
  const old: Record<string, unknown> = { ...record.old }
  for (const name of Object.keys(sent) as RenamedName[]) {
    const current = { value: record.token[name], remembered: record.old[name] }
    const { value, remembered } = applyRenamed<unknown>({ old: sent[name]?.old, new: sent[name]?.new }, current)
    Object.assign(token, { [name]: value })
    if (remembered === undefined) delete old[name]
    else old[name] = remembered
  }
  return { ...record, token, old }
}

/** Returns the names trimmed, in lower case, sorted, and without duplicates and empty names. */
export const lowerNames = (names: readonly string[]): string[] =>
  names.every(isNext)
    ? [...names]
    : [...new Set(names.map((name) => name.trim().toLowerCase()).filter((name) => name !== ''))].sort()

/** Returns whether a name is normalized and sorts after the previous name, as in most stored lists. */
const isNext = (name: string, at: number, names: readonly string[]): boolean =>
  NORMAL_NAME.test(name) && (at === 0 || (names[at - 1] ?? '') < name)

const NORMAL_NAME = /^[a-z0-9_\-/.]+$/

/** Normalizes the policies of a token. If they include `root`, returns only `root`. */
export const normalizePolicies = (names: readonly string[]): string[] => {
  const clean = lowerNames(names)
  return clean.includes('root') ? ['root'] : clean
}
