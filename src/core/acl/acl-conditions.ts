/**
 * Checks the conditions of a policy rule other than its capabilities: request parameters and the TTL of response
 * wrapping.
 */
import type { PlainValue } from '../../base/hcl-blocks.js'
import { isJsonObject } from '../../base/json.js'
import { matchesOpenEnds } from '../../base/wildcards.js'
import type { JsonObject, JsonValue } from '../../logical/json.js'
import type { Operation, WrapRequest } from '../../logical/request.js'
import type { AclRule } from './acl-rules.js'
import type { ParameterLists } from './policy-text.js'

const OPERATIONS_WITH_PARAMETERS: ReadonlySet<Operation> = new Set(['read', 'create', 'update', 'patch'])

export const meetsConditions = (
  rule: AclRule,
  operation: Operation,
  data: JsonObject,
  wrap: WrapRequest | undefined,
): boolean => {
  if (!meetsWrapping(rule, wrap)) return false
  return !OPERATIONS_WITH_PARAMETERS.has(operation) || meetsParameters(rule, data)
}

/**
 * Returns whether the wrapping TTL of a request is within the limits of the rule. If the rule has a limit, the request
 * must ask for a wrapped response. Merged rules can have a range that no TTL satisfies.
 */
const meetsWrapping = (rule: AclRule, wrap: WrapRequest | undefined): boolean => {
  const { minWrappingTtlSeconds: min, maxWrappingTtlSeconds: max } = rule
  if (min === 0 && max === 0) return true
  return wrap !== undefined && wrap.ttlSeconds > 0 && wrap.ttlSeconds >= min && (max === 0 || wrap.ttlSeconds <= max)
}

const meetsParameters = (rule: AclRule, data: JsonObject): boolean => {
  if (!rule.requiredParameters.every((name) => Object.hasOwn(data, name.toLowerCase()))) return false
  if (rule.deniedParameters.size === 0 && rule.allowedParameters.size === 0) return true
  return Object.entries(data).every(
    ([name, value]) => !isDenied(rule.deniedParameters, name, value) && isAllowed(rule.allowedParameters, name, value),
  )
}

const isDenied = (denied: ParameterLists, name: string, value: JsonValue): boolean => {
  if (denied.has('*')) return true
  const values = denied.get(name.toLowerCase())
  return values !== undefined && isListed(values, value)
}

const isAllowed = (allowed: ParameterLists, name: string, value: JsonValue): boolean => {
  if (allowed.size === 0) return true
  const values = allowed.get(name.toLowerCase())
  return values === undefined ? allowed.has('*') : isListed(values, value)
}

const isListed = (values: readonly PlainValue[], value: JsonValue): boolean =>
  values.length === 0 || values.some((listed) => isSame(listed, value))

/**
 * Compares two strings as globs, and other values by type and value. As in Vault, a number never matches, because the
 * policy contains a native number and the request contains the text of a number.
 */
const isSame = (listed: PlainValue, value: JsonValue): boolean =>
  typeof listed === 'string' && typeof value === 'string' ? matchesOpenEnds(listed, value) : isEqual(listed, value)

/** Compares nested values without globs. Returns false for an object that has an object as a member. */
const isEqual = (listed: PlainValue, value: JsonValue | undefined): boolean => {
  if (Array.isArray(listed)) {
    return (
      Array.isArray(value) && listed.length === value.length && listed.every((one, index) => isEqual(one, value[index]))
    )
  }
  if (typeof listed !== 'object' || listed === null) return typeof listed !== 'number' && listed === value
  if (!isJsonObject(value)) return false
  const names = Object.keys(listed)
  return (
    names.length === Object.keys(value).length &&
    names.every((name) => {
      const member = listed[name] ?? null
      const isObject = typeof member === 'object' && member !== null && !Array.isArray(member)
      return !isObject && Object.hasOwn(value, name) && isEqual(member, value[name])
    })
  )
}
