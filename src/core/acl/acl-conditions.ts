/** The conditions of a rule beside its capability: parameters of the request and the time an answer is wrapped for. */
import type { PlainValue } from '../../base/hcl-blocks.js'
import { RawNumber } from '../../base/json.js'
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

/** Either bound demands that the answer is wrapped. Merging can leave a range that nothing fits. */
const meetsWrapping = (rule: AclRule, wrap: WrapRequest | undefined): boolean => {
  const { minWrappingTtlSeconds: min, maxWrappingTtlSeconds: max } = rule
  if (min === 0 && max === 0) return true
  return wrap !== undefined && wrap.ttlSeconds > 0 && wrap.ttlSeconds >= min && (max === 0 || wrap.ttlSeconds <= max)
}

const meetsParameters = (rule: AclRule, data: JsonObject): boolean => {
  if (!rule.requiredParameters.every((name) => Object.hasOwn(data, name))) return false
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
 * Scalars are compared as endpoints read them, by their text: `10` is `"10"`, so that a denied value cannot be sent in
 * another type. Lists and objects must be equal throughout.
 */
const isSame = (listed: PlainValue, value: JsonValue): boolean => {
  const text = textOf(value)
  if (text !== undefined) {
    return typeof listed === 'string' ? matchesGlob(listed, text) : textOf(listed) === text
  }
  if (Array.isArray(listed)) {
    return (
      Array.isArray(value) &&
      listed.length === value.length &&
      listed.every((one, index) => isSame(one, value[index] ?? null))
    )
  }
  return typeof listed === 'object' && listed !== null && isJsonObject(value) && hasSameMembers(listed, value)
}

const hasSameMembers = (listed: { [key: string]: PlainValue }, value: JsonObject): boolean => {
  const names = Object.keys(listed)
  return (
    names.length === Object.keys(value).length &&
    names.every((name) => Object.hasOwn(value, name) && isSame(listed[name] ?? null, value[name] ?? null))
  )
}

const isJsonObject = (value: JsonValue): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof RawNumber)

/** The text of a scalar; undefined for a list or an object. */
const textOf = (value: JsonValue): string | undefined => {
  if (value instanceof RawNumber) return value.text
  return typeof value === 'object' && value !== null ? undefined : String(value)
}

/** `*` at the beginning, at the end, or at both stands for any text there; elsewhere it is itself. */
const matchesGlob = (glob: string, text: string): boolean => {
  const isOpenStart = glob.startsWith('*')
  const isOpenEnd = glob.length > 1 && glob.endsWith('*')
  const core = glob.slice(isOpenStart ? 1 : 0, isOpenEnd ? -1 : undefined)
  if (isOpenStart && isOpenEnd) return text.includes(core)
  if (isOpenStart) return text.endsWith(core)
  return isOpenEnd ? text.startsWith(core) : text === core
}
