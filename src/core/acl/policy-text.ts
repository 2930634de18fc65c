/**
 * Parses the policy language, HCL 1 or JSON, into rules. A text with an unknown key is rejected as a whole, because a
 * misspelled key must never remove a restriction.
 */
import { parseDurationMs } from '../../base/duration.js'
import { isJsonText, parseHcl } from '../../base/hcl.js'
import { blocksOf, type HclBlock, type PlainValue, plainValue } from '../../base/hcl-blocks.js'
import { type HclBody, HclError, type HclItem, type HclPosition, type HclValue } from '../../base/hcl-tree.js'
import { LIMITS } from '../../base/limits.js'
import { LogicalError } from '../../logical/errors.js'
import {
  bitsOf,
  type Capability,
  CAPABILITY_BITS,
  IGNORED_CAPABILITIES,
  isCapability,
  OLD_POLICY_WORDS,
} from './acl-capabilities.js'
import { hasTemplate, isBalanced } from './acl-pattern.js'

/** Allowed or denied values of parameters, by parameter name in lower case. An empty list means any value. */
export type ParameterLists = ReadonlyMap<string, readonly PlainValue[]>

/** One `path` block of a policy. The path has no leading slash, and its templates are not resolved. */
export interface PolicyRule {
  readonly path: string
  /** Bits of CAPABILITY_BITS. A rule with 0 grants nothing, but still overrides rules of lower priority. */
  readonly capabilities: number
  readonly allowedParameters: ParameterLists
  readonly deniedParameters: ParameterLists
  readonly requiredParameters: readonly string[]
  /** In seconds; 0 if not set. */
  readonly minWrappingTtlSeconds: number
  /** In seconds; 0 if not set. */
  readonly maxWrappingTtlSeconds: number
}

export interface ParsedPolicy {
  readonly rules: readonly PolicyRule[]
  readonly isTemplated: boolean
  /** Warnings about keys that are not enforced and about repeated keys. */
  readonly warnings: readonly string[]
}

/** Parses a policy. Throws LogicalError `invalid-request` with a text that starts with `failed to parse policy`. */
export const parsePolicy = (text: string): ParsedPolicy => {
  try {
    const body = parseHcl(text)
    refuseUnknownKeys(body, POLICY_KEYS, '')
    for (const item of body.items.filter(({ key }) => key === 'name')) stringOf(unlabelled(item))
    const blocks = isJsonText(text) ? blocksOf(body, 'path', 1) : pathsOf(body)
    const rules = blocks.map(parseRule)
    return { rules, isTemplated: rules.some((rule) => hasTemplate(rule.path)), warnings: warningsOf(blocks) }
  } catch (error) {
    if (!(error instanceof HclError || error instanceof RuleError)) throw error
    throw new LogicalError('invalid-request', `failed to parse policy: ${error.message}`, { cause: error })
  }
}

/** An error with the same text as in Vault, since clients may depend on the text. */
class RuleError extends Error {}

/**
 * Returns the `path "x" { }` blocks. As in Vault, only the first label counts, and a block without a label has the path
 * `path`.
 */
const pathsOf = (body: HclBody): HclBlock[] =>
  body.items.flatMap(({ key, labels, value, line, column }) => {
    if (key !== 'path') return []
    if (value.kind !== 'object') throw new HclError('path must be a block', value)
    return [{ labels: [labels[0]?.text ?? key], body: value.body, line, column }]
  })

const POLICY_KEYS: readonly string[] = ['name', 'path']

/** Keys that are accepted, because existing policies use them, but not enforced. */
const UNENFORCED_KEYS: readonly string[] = ['mfa_methods', 'control_group', 'subscribe_event_types']

const RULE_KEYS: readonly string[] = [
  'policy',
  'capabilities',
  'allowed_parameters',
  'denied_parameters',
  'required_parameters',
  'min_wrapping_ttl',
  'max_wrapping_ttl',
  'comment',
  ...UNENFORCED_KEYS,
]

const refuseUnknownKeys = (body: HclBody, known: readonly string[], before: string): void => {
  const unknown = body.items.filter(({ key }) => !known.includes(key))
  const errors = unknown.map(({ key, line }) => `\t* ${before}invalid key ${JSON.stringify(key)} on line ${line}\n`)
  if (errors.length === 0) return
  throw new RuleError(`${errors.length} error${errors.length > 1 ? 's' : ''} occurred:\n${errors.join('')}\n`)
}

const REPEATED = 'policy contains duplicate attributes, which will no longer be supported in a future version'

const warningsOf = (blocks: readonly HclBlock[]): string[] => [
  ...UNENFORCED_KEYS.filter((key) => blocks.some(({ body }) => body.items.some((item) => item.key === key))).map(
    (key) => `"${key}" is accepted but not enforced`,
  ),
  ...(blocks.some(({ body }) => new Set(body.items.map(({ key }) => key)).size < body.items.length) ? [REPEATED] : []),
]

const NO_PARAMETERS: ParameterLists = new Map()

const parseRule = (block: HclBlock): PolicyRule => {
  const label = block.labels[0] ?? ''
  const named = `path ${JSON.stringify(label)}: `
  const path = parsePath(block)
  refuseUnknownKeys(block.body, RULE_KEYS, named)
  // A JSON null counts as an absent field.
  const of = (key: string): HclItem[] =>
    block.body.items.filter((item) => item.key === key && item.value.kind !== 'null')
  const allowedParameters = parseParameters(of('allowed_parameters'))
  const deniedParameters = parseParameters(of('denied_parameters'))
  const requiredParameters = of('required_parameters').flatMap(parseStrings)
  for (const key of ['mfa_methods', 'subscribe_event_types']) of(key).forEach(parseStrings)
  const capabilities = parseCapabilities(of('policy').at(-1), of('capabilities').flatMap(parseStrings), named)
  if ((capabilities & CAPABILITY_BITS.deny) !== 0) return denied(path)
  const [min, max] = ['min_wrapping_ttl', 'max_wrapping_ttl'].map((key) => parseSeconds(of(key).at(-1)))
  if (min && max && max < min) throw new RuleError('max_wrapping_ttl cannot be less than min_wrapping_ttl')
  return {
    path,
    capabilities,
    allowedParameters,
    deniedParameters,
    requiredParameters,
    minWrappingTtlSeconds: Math.max(0, min ?? 0),
    maxWrappingTtlSeconds: Math.max(0, max ?? 0),
  }
}

/** Returns a rule that denies access to the path. */
const denied = (path: string): PolicyRule => ({
  path,
  capabilities: CAPABILITY_BITS.deny,
  allowedParameters: NO_PARAMETERS,
  deniedParameters: NO_PARAMETERS,
  requiredParameters: [],
  minWrappingTtlSeconds: 0,
  maxWrappingTtlSeconds: 0,
})

const parsePath = (block: HclBlock): string => {
  const label = block.labels[0] ?? ''
  if (!isBalanced(label)) {
    throw new RuleError('failed to validate policy templating: unbalanced templating characters')
  }
  const path = label.replace(/^\//, '')
  if (path.includes('+*')) {
    throw new RuleError(`path ${JSON.stringify(path)}: invalid use of wildcards ('+*' is forbidden)`)
  }
  if (path.length > LIMITS.rulePathCharactersMax) {
    throw new HclError(`the path is longer than ${LIMITS.rulePathCharactersMax} characters`, block)
  }
  return path
}

/**
 * Returns the bits of the `capabilities` list and of the old `policy` value. Does not check entries after `deny`.
 * Throws an error for an unknown word.
 */
const parseCapabilities = (old: HclItem | undefined, listed: readonly string[], named: string): number => {
  const word = old ? stringOf(unlabelled(old)) : ''
  const ofWord = Object.hasOwn(OLD_POLICY_WORDS, word) ? OLD_POLICY_WORDS[word] : undefined
  if (word !== '' && !ofWord) throw new RuleError(`${named}invalid policy ${JSON.stringify(word)}`)
  const found: Capability[] = []
  for (const capability of word === 'deny' ? ['deny'] : [...listed, ...(ofWord ?? [])]) {
    if (isCapability(capability)) found.push(capability)
    else if (!IGNORED_CAPABILITIES.includes(capability)) {
      throw new RuleError(`${named}invalid capability ${JSON.stringify(capability)}`)
    }
    if (capability === 'deny') break
  }
  return bitsOf(found)
}

/**
 * Parses `allowed_parameters` or `denied_parameters`. Names are case-insensitive. The values of a repeated name are
 * combined.
 */
const parseParameters = (items: readonly HclItem[]): ParameterLists => {
  if (items.length === 0) return NO_PARAMETERS
  const lists = new Map<string, readonly PlainValue[]>()
  const blocks = items.flatMap((item) => blocksOf({ ...item, items: [item] }, item.key, 0))
  for (const parameter of blocks.flatMap(({ body }) => body.items)) {
    const name = parameter.key.toLowerCase()
    lists.set(name, [...(lists.get(name) ?? []), ...valuesOf(parameter).map(plainValue)])
  }
  return lists
}

const parseStrings = (item: HclItem): string[] => {
  const value = unlabelled(item)
  if (value.kind !== 'list') throw new HclError(`${item.key} must be a list`, value)
  return value.values.map(stringOf)
}

/** Returns a wrapping TTL in seconds. A result of 0 or less means no limit. Throws `HclError` for any other value. */
const parseSeconds = (item: HclItem | undefined): number => {
  if (!item) return 0
  const value = unlabelled(item)
  if (value.kind === 'number') return Math.trunc(value.value)
  const text = stringOf(value)
  const ms = text === '' ? 0 : parseDurationMs(text)
  if (ms === undefined) throw new HclError(`${JSON.stringify(text)} is not a duration`, value)
  return ms / 1000
}

const unlabelled = (item: HclItem): HclValue => {
  const label: HclPosition | undefined = item.labels[0]
  if (label) throw new HclError(`${item.key} takes no label`, label)
  return item.value
}

const valuesOf = (item: HclItem): readonly HclValue[] => {
  const value = unlabelled(item)
  if (value.kind === 'object') return [value]
  if (value.kind !== 'list') throw new HclError(`${item.key} must be a list`, value)
  return value.values
}

/**
 * Returns the value of a string, or the text of a number as the policy contains it. Throws HclError for other values.
 */
const stringOf = (value: HclValue): string => {
  if (value.kind === 'number') return value.text
  if (value.kind !== 'string') throw new HclError('expected a string', value)
  return value.value
}
