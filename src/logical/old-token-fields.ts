/** The deprecated names of `token_*` parameters. Each auth method has some of them. */
import { wholeSeconds } from '../base/duration.js'
import { type Call, sentBy } from './backend.js'
import { parseBoundCidrs } from './bound-cidrs.js'
import { commaList, duration, int } from './fields.js'
import {
  applyOldNames,
  applyTokenFields,
  normalizePolicies,
  type OldNames,
  type TOKEN_FIELDS,
  type TokenSettings,
} from './token-fields.js'

const isDeprecated = { isDeprecated: true } as const

export const OLD_TOKEN_FIELDS = {
  policies: commaList('Deprecated name of token_policies.', isDeprecated),
  ttl: duration('Deprecated name of token_ttl.', 0, isDeprecated),
  max_ttl: duration('Deprecated name of token_max_ttl.', 0, isDeprecated),
  period: duration('Deprecated name of token_period.', 0, isDeprecated),
  num_uses: int('Deprecated name of token_num_uses.', 0, isDeprecated),
  bound_cidrs: commaList('Deprecated name of token_bound_cidrs.', isDeprecated),
} as const

type AnyCall = Call<typeof OLD_TOKEN_FIELDS & typeof TOKEN_FIELDS>

/** A call of a path that has the current names and some of the deprecated names. */
type OldTokenCall = Pick<Call<typeof TOKEN_FIELDS>, 'values' | 'supplied'>

interface Settings {
  readonly token: TokenSettings
  readonly old: OldNames
}

/** Merges the fields of the request into the settings. Throws LogicalError 400 if a field or the result is invalid. */
export const applyTokenNames = (call: OldTokenCall, current: Settings): Settings & { warnings: string[] } => {
  // `supplied` returns false for a name that the path does not have.
  const sent = sentBy(call as unknown as AnyCall)
  const [policies, cidrs, newCidrs] = [sent('policies'), sent('bound_cidrs'), sent('token_bound_cidrs')]
  const { token, old } = applyOldNames(
    { token: current.token, old: current.old },
    {
      policies: { old: policies && normalizePolicies(policies), new: sent('token_policies') },
      ttlSeconds: { old: sent('ttl'), new: sent('token_ttl') },
      maxTtlSeconds: { old: sent('max_ttl'), new: sent('token_max_ttl') },
      periodSeconds: { old: sent('period'), new: sent('token_period') },
      numUses: { old: sent('num_uses'), new: sent('token_num_uses') },
      boundCidrs: { old: cidrs && parseBoundCidrs(cidrs), new: newCidrs && parseBoundCidrs(newCidrs) },
    },
  )
  const { settings, warnings } = applyTokenFields(call, token)
  return { token: settings, old, warnings }
}

/** Returns the deprecated names that a read response contains: those that are set. */
export const oldNamesData = ({ old }: Pick<Settings, 'old'>): Record<string, unknown> => ({
  ...(old.policies?.length && { policies: old.policies }),
  ...(old.ttlSeconds && { ttl: wholeSeconds(old.ttlSeconds) }),
  ...(old.maxTtlSeconds && { max_ttl: wholeSeconds(old.maxTtlSeconds) }),
  ...(old.periodSeconds && { period: wholeSeconds(old.periodSeconds) }),
  ...(old.numUses && { num_uses: old.numUses }),
  ...(old.boundCidrs?.length && { bound_cidrs: old.boundCidrs }),
})

/** Compares policies without regard to order, duplicates and the policy `default`, which the core adds. */
export const areSamePolicies = (one: readonly string[], other: readonly string[]): boolean => {
  const clean = (names: readonly string[]) =>
    normalizePolicies(names)
      .filter((name) => name !== 'default')
      .join('\n')
  return clean(one) === clean(other)
}
