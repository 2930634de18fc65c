/** The fields of a user. Old names are synonyms of the names that start with `token_`. */
import { wholeSeconds } from '../../base/duration.js'
import { parseBoundCidrs } from '../../logical/bound-cidrs.js'
import { type Call, sentBy } from '../../logical/backend.js'
import { commaList, duration, string } from '../../logical/fields.js'
import {
  applyOldNames,
  applyTokenFields,
  normalizePolicies,
  TOKEN_FIELDS,
  tokenFieldsData,
} from '../../logical/token-fields.js'
import type { User } from './users.js'

export const USER_FIELDS = {
  username: string('Name of the user, case-insensitive.'),
  password: string('The password.', '', { isSecret: true }),
  password_hash: string('A bcrypt hash instead of the password.', '', { isSecret: true }),
  policies: commaList('Deprecated name of token_policies.', { isDeprecated: true }),
  ttl: duration('Deprecated name of token_ttl.', 0, { isDeprecated: true }),
  max_ttl: duration('Deprecated name of token_max_ttl.', 0, { isDeprecated: true }),
  bound_cidrs: commaList('Deprecated name of token_bound_cidrs.', { isDeprecated: true }),
  ...TOKEN_FIELDS,
} as const

export type UserCall = Call<typeof USER_FIELDS>

type Settings = Pick<User, 'token' | 'old'>

/** Merges the fields of the request into the settings. Throws LogicalError 400 if a field or the result is invalid. */
export const applyUserFields = (call: UserCall, current: Settings): Settings & { warnings: string[] } => {
  const sent = sentBy(call)
  const [policies, cidrs, newCidrs] = [sent('policies'), sent('bound_cidrs'), sent('token_bound_cidrs')]
  const { token, old } = applyOldNames(current, {
    policies: { old: policies && normalizePolicies(policies), new: sent('token_policies') },
    ttlSeconds: { old: sent('ttl'), new: sent('token_ttl') },
    maxTtlSeconds: { old: sent('max_ttl'), new: sent('token_max_ttl') },
    boundCidrs: { old: cidrs && parseBoundCidrs(cidrs), new: newCidrs && parseBoundCidrs(newCidrs) },
  })
  const { settings, warnings } = applyTokenFields(call, token)
  return { token: settings, old, warnings }
}

/** Returns the data of a read response. Omits the password hash, and old names that are not set. */
export const userData = ({ token, old }: User): Record<string, unknown> => ({
  ...tokenFieldsData(token),
  ...(old.policies?.length && { policies: old.policies }),
  ...(old.ttlSeconds && { ttl: wholeSeconds(old.ttlSeconds) }),
  ...(old.maxTtlSeconds && { max_ttl: wholeSeconds(old.maxTtlSeconds) }),
  ...(old.boundCidrs?.length && { bound_cidrs: old.boundCidrs }),
})
