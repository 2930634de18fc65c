/** The fields of a user, and how a write changes the record. Old names are synonyms of their `token_*` successors. */
import { wholeSeconds } from '../../base/duration.js'
import { parseBoundCidrs } from '../../logical/bound-cidrs.js'
import type { Call } from '../../logical/backend.js'
import { commaList, duration, string } from '../../logical/fields.js'
import {
  applyRenamed,
  applyTokenFields,
  normalizePolicies,
  TOKEN_FIELDS,
  tokenFieldsData,
} from '../../logical/token-fields.js'
import type { OldNames, User } from './users.js'

export const USER_FIELDS = {
  username: string('Name of the user, case-insensitive.'),
  password: string('The password.', '', { isSecret: true }),
  password_hash: string('A bcrypt hash in place of the password.', '', { isSecret: true }),
  policies: commaList('Deprecated name of token_policies.', { isDeprecated: true }),
  ttl: duration('Deprecated name of token_ttl.', 0, { isDeprecated: true }),
  max_ttl: duration('Deprecated name of token_max_ttl.', 0, { isDeprecated: true }),
  bound_cidrs: commaList('Deprecated name of token_bound_cidrs.', { isDeprecated: true }),
  ...TOKEN_FIELDS,
} as const

export type UserCall = Call<typeof USER_FIELDS>

type Settings = Pick<User, 'token' | 'old'>

/** Merges the sent fields into the settings. Throws 400 if a field or the merged record is invalid. */
export const applyUserFields = (call: UserCall, current: Settings): Settings & { warnings: string[] } => {
  const sent = <K extends keyof typeof USER_FIELDS & string>(name: K) =>
    call.supplied(name) ? call.values[name] : undefined
  const { old, token: before } = current
  const oldPolicies = sent('policies')
  const oldCidrs = sent('bound_cidrs')

  const policies = applyRenamed<readonly string[]>(
    { old: oldPolicies && normalizePolicies(oldPolicies), new: sent('token_policies') },
    { value: before.policies, remembered: old.policies },
  )
  const ttl = applyRenamed(
    { old: sent('ttl'), new: sent('token_ttl') },
    { value: before.ttlSeconds, remembered: old.ttlSeconds },
  )
  const maxTtl = applyRenamed(
    { old: sent('max_ttl'), new: sent('token_max_ttl') },
    { value: before.maxTtlSeconds, remembered: old.maxTtlSeconds },
  )
  const newCidrs = sent('token_bound_cidrs')
  const cidrs = applyRenamed<readonly string[] | null>(
    { old: oldCidrs && parseBoundCidrs(oldCidrs), new: newCidrs && parseBoundCidrs(newCidrs) },
    { value: before.boundCidrs, remembered: old.boundCidrs },
  )

  const { settings, warnings } = applyTokenFields(call, {
    ...before,
    policies: policies.value,
    ttlSeconds: ttl.value,
    maxTtlSeconds: maxTtl.value,
    boundCidrs: cidrs.value,
  })
  return { token: settings, warnings, old: rememberedNames(policies.remembered, ttl, maxTtl, cidrs.remembered) }
}

const rememberedNames = (
  policies: readonly string[] | undefined,
  ttl: { remembered: number | undefined },
  maxTtl: { remembered: number | undefined },
  boundCidrs: readonly string[] | null | undefined,
): OldNames => ({
  ...(policies && { policies }),
  ...(ttl.remembered !== undefined && { ttlSeconds: ttl.remembered }),
  ...(maxTtl.remembered !== undefined && { maxTtlSeconds: maxTtl.remembered }),
  ...(boundCidrs && { boundCidrs }),
})

/** Returns a user in the form of a read response, without the password, and with the old names only if they are set. */
export const userData = ({ token, old }: User): Record<string, unknown> => ({
  ...tokenFieldsData(token),
  ...(old.policies?.length && { policies: old.policies }),
  ...(old.ttlSeconds && { ttl: wholeSeconds(old.ttlSeconds) }),
  ...(old.maxTtlSeconds && { max_ttl: wholeSeconds(old.maxTtlSeconds) }),
  ...(old.boundCidrs?.length && { bound_cidrs: old.boundCidrs }),
})
