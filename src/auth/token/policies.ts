import { matchesWildcards } from '../../base/wildcards.js'
import { invalid } from '../../logical/errors.js'
import { normalizePolicies } from '../../logical/token-fields.js'
import type { TokenRole } from './role-record.js'

interface PolicyFacts {
  /** Policies requested by the client; empty if it requested none. */
  readonly asked: readonly string[]
  readonly noDefaultPolicy: boolean
  readonly parent: { readonly policies: readonly string[]; readonly isInOtherNamespace: boolean }
  readonly hasSudo: boolean
  readonly role: TokenRole | undefined
}

/**
 * Returns the policies of a new token. By default, a child can only have policies of its parent. A role with policy
 * lists replaces this rule, and sudo disables it. Throws LogicalError 400 for policies that the caller may not grant.
 */
export const decidePolicies = (facts: PolicyFacts): string[] => {
  const { role } = facts
  const noDefault = facts.noDefaultPolicy || (role?.noDefaultPolicy ?? false)
  const chosen = role && hasLists(role) ? byRole(facts, role, noDefault) : byParent(facts, noDefault)
  const policies = noDefault ? chosen.filter((name) => name !== 'default') : chosen
  if (policies.includes('response-wrapping')) throw invalid('cannot assign policy "response-wrapping"')
  if (policies.includes('root') && !facts.parent.policies.includes('root')) {
    throw invalid('root tokens may not be created without parent token being root')
  }
  return policies
}

const withDefault = (names: readonly string[], isAdded: boolean): string[] =>
  normalizePolicies(isAdded ? [...names, 'default'] : names)

const byParent = ({ asked, parent, hasSudo }: PolicyFacts, noDefault: boolean): string[] => {
  if (parent.isInOtherNamespace) return withDefault(asked, !noDefault)
  if (asked.length === 0) return normalizePolicies(parent.policies)
  if (hasSudo) return withDefault(asked, !noDefault)
  const wanted = normalizePolicies(asked)
  if (!wanted.every((name) => parent.policies.includes(name))) throw invalid('child policies must be subset of parent')
  return withDefault(wanted, !noDefault && parent.policies.includes('default'))
}

const hasLists = (role: TokenRole): boolean =>
  [role.allowedPolicies, role.disallowedPolicies, role.allowedPoliciesGlob, role.disallowedPoliciesGlob].some(
    (list) => list.length > 0,
  )

const byRole = (facts: PolicyFacts, role: TokenRole, noDefault: boolean): string[] => {
  const isDefaultBarred = matches('default', role.disallowedPolicies, role.disallowedPoliciesGlob)
  const addsDefault = !noDefault && !isDefaultBarred
  const asked = facts.asked.length > 0 ? withDefault(facts.asked, addsDefault) : []
  const policies = allowedByRole(facts, role, asked, addsDefault)
  const barred = policies.find((name) => matches(name, role.disallowedPolicies, role.disallowedPoliciesGlob))
  if (barred !== undefined) throw invalid(`token policy ${JSON.stringify(barred)} is disallowed by this role`)
  return policies
}

const allowedByRole = (
  { parent }: PolicyFacts,
  role: TokenRole,
  asked: readonly string[],
  addsDefault: boolean,
): string[] => {
  if (role.allowedPolicies.length === 0 && role.allowedPoliciesGlob.length === 0) {
    return asked.length > 0 ? [...asked] : withDefault(parent.policies, addsDefault)
  }
  const allowed = withDefault(role.allowedPolicies, addsDefault)
  if (asked.length === 0) return allowed
  const globs = normalizePolicies(role.allowedPoliciesGlob)
  if (asked.every((name) => matches(name, allowed, globs))) return [...asked]
  throw invalid(
    `token policies (${quoteList(asked)}) must be subset of the role's allowed policies (${quoteList(allowed)}) ` +
      `or glob policies (${quoteList(globs)})`,
  )
}

/** Returns the names in the list format of Vault, such as `["a" "b"]`. */
const quoteList = (names: readonly string[]): string => `[${names.map((name) => JSON.stringify(name)).join(' ')}]`

const matches = (name: string, names: readonly string[], globs: readonly string[]): boolean =>
  normalizePolicies(names).includes(name) || globs.some((glob) => matchesGlob(glob, name))

/** Returns whether `text` matches `glob`, regardless of letter case. Each `*` stands for any text. */
export const matchesGlob = (glob: string, text: string): boolean =>
  matchesWildcards(glob.trim().toLowerCase(), text.toLowerCase())
