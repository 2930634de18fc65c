/** Merges the rules of several policies into one rule per pattern, and records the contribution of each policy. */
import type { PlainValue } from '../../base/hcl-blocks.js'
import { CAPABILITY_BITS } from './acl-capabilities.js'
import { type EntityView, type PathPattern, resolvePattern } from './acl-pattern.js'
import type { ParameterLists, PolicyRule } from './policy-text.js'

export interface GrantingPolicy {
  readonly name: string
  readonly namespaceId: string
  readonly type: string
}

/** A parsed policy as input for the access rules. */
export interface AclPolicy {
  readonly name: string
  readonly rules: readonly PolicyRule[]
}

export interface AclRule extends Omit<PolicyRule, 'path'> {
  readonly pattern: PathPattern
  readonly contributions: readonly { readonly policy: GrantingPolicy; readonly capabilities: number }[]
}

/** Returns one rule per distinct pattern. Omits rules whose templates cannot be resolved for this entity. */
export const mergeRules = (
  policies: readonly AclPolicy[],
  namespaceId: string,
  entity: EntityView | undefined,
): AclRule[] => {
  const merged = new Map<string, AclRule>()
  for (const { name, rules } of policies) {
    const policy: GrantingPolicy = { name, namespaceId, type: 'acl' }
    for (const { path, ...rule } of rules) {
      const pattern = resolvePattern(path, entity)
      if (!pattern) continue
      const added = { ...rule, pattern, contributions: [{ policy, capabilities: rule.capabilities }] }
      const key = keyOf(pattern)
      const existing = merged.get(key)
      merged.set(key, existing ? mergeRule(existing, added) : added)
    }
  }
  return [...merged.values()]
}

/**
 * Returns a key that identifies a pattern. Patterns of equal text have different keys if a template inserted a literal
 * `+` or `*` into one of them.
 */
const keyOf = ({ kind, isGlob, segments, text }: PathPattern): string =>
  `${kind}${isGlob ? '*' : ''}:${kind === 'segments' ? JSON.stringify(segments) : text}`

/**
 * Merges two rules. If one rule denies access, the result only denies access. Otherwise the result has the capabilities
 * of both rules and, as in Vault, the smaller of each wrapping TTL limit.
 */
const mergeRule = (a: AclRule, b: AclRule): AclRule => {
  const contributions = [...a.contributions, ...b.contributions]
  const denying = [a, b].find((rule) => (rule.capabilities & CAPABILITY_BITS.deny) !== 0)
  if (denying) return { ...denying, contributions }
  return {
    pattern: a.pattern,
    contributions,
    capabilities: a.capabilities | b.capabilities,
    allowedParameters: mergeParameters(a.allowedParameters, b.allowedParameters),
    deniedParameters: mergeParameters(a.deniedParameters, b.deniedParameters),
    requiredParameters: [...new Set([...a.requiredParameters, ...b.requiredParameters])],
    minWrappingTtlSeconds: smallerSet(a.minWrappingTtlSeconds, b.minWrappingTtlSeconds),
    maxWrappingTtlSeconds: smallerSet(a.maxWrappingTtlSeconds, b.maxWrappingTtlSeconds),
  }
}

/**
 * Returns the union of two lists, by parameter name. If one list covers any value of a parameter, so does the result.
 */
const mergeParameters = (a: ParameterLists, b: ParameterLists): ParameterLists => {
  const merged = new Map<string, readonly PlainValue[]>(a)
  for (const [name, values] of b) {
    const existing = merged.get(name)
    const isAny = values.length === 0 || existing?.length === 0
    merged.set(name, isAny ? [] : [...(existing ?? []), ...values])
  }
  return merged
}

const smallerSet = (a: number, b: number): number => (a === 0 ? b : b === 0 ? a : Math.min(a, b))
