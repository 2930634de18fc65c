/**
 * The policy language: HCL 1 or JSON into rules. A text is either understood in full or refused with the place of the
 * mistake; a misspelt key never passes for no restriction.
 */
import { parseDurationMs } from '../../base/duration.js'
import { parseHcl } from '../../base/hcl.js'
import { blocksOf, type HclBlock, type PlainValue, plainValue } from '../../base/hcl-blocks.js'
import { type HclBody, HclError, type HclItem, type HclPosition, type HclValue } from '../../base/hcl-tree.js'
import { LIMITS } from '../../base/limits.js'
import { LogicalError } from '../../logical/errors.js'
import {
  bitsOf,
  CAPABILITY_BITS,
  type Capability,
  IGNORED_CAPABILITIES,
  isCapability,
  OLD_POLICY_WORDS,
} from './acl-capabilities.js'
import { hasTemplate } from './acl-template.js'

/** Values a parameter may or may not have, by lower-case name; an empty list stands for any value. */
export type ParameterLists = ReadonlyMap<string, readonly PlainValue[]>

/** One `path` block as written: the path without its leading slash, templates unresolved. */
export interface PolicyRule {
  readonly path: string
  /** Bits of CAPABILITY_BITS; 0 grants nothing and still shadows what lies below it in priority. */
  readonly capabilities: number
  readonly allowedParameters: ParameterLists
  readonly deniedParameters: ParameterLists
  readonly requiredParameters: readonly string[]
  /** Seconds; 0 = not set. */
  readonly minWrappingTtlSeconds: number
  readonly maxWrappingTtlSeconds: number
}

export interface ParsedPolicy {
  readonly rules: readonly PolicyRule[]
  readonly isTemplated: boolean
  /** The parts of the policy that were understood but have no effect in this product. */
  readonly warnings: readonly string[]
}

/** Throws LogicalError `invalid-request` with a text that starts `failed to parse policy`. */
export const parsePolicy = (text: string): ParsedPolicy => {
  try {
    const body = parseHcl(text)
    refuseUnknownKeys(body, POLICY_KEYS)
    const blocks = blocksOf(body, 'path', 1)
    const rules = blocks.map(parseRule)
    return { rules, isTemplated: rules.some((rule) => hasTemplate(rule.path)), warnings: warningsOf(blocks) }
  } catch (error) {
    if (!(error instanceof HclError)) throw error
    throw new LogicalError('invalid-request', `failed to parse policy: ${error.message}`, { cause: error })
  }
}

const POLICY_KEYS: readonly string[] = ['name', 'path']

/** Accepted since existing policies have them; nothing here enforces them. */
const UNENFORCED_KEYS: readonly string[] = ['mfa_methods', 'control_group']

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

const refuseUnknownKeys = (body: HclBody, known: readonly string[]): void => {
  for (const item of body.items) {
    if (!known.includes(item.key)) throw new HclError(`invalid key ${JSON.stringify(item.key)}`, item)
  }
}

const warningsOf = (blocks: readonly HclBlock[]): string[] =>
  UNENFORCED_KEYS.filter((key) => blocks.some(({ body }) => body.items.some((item) => item.key === key))).map(
    (key) => `"${key}" is accepted but not enforced`,
  )

const NO_PARAMETERS: ParameterLists = new Map()

const parseRule = (block: HclBlock): PolicyRule => {
  refuseUnknownKeys(block.body, RULE_KEYS)
  const fields = fieldsOf(block.body)
  const capabilities = parseOldWord(fields.get('policy')) | parseCapabilities(fields.get('capabilities'))
  const rule = {
    path: parsePath(block),
    capabilities,
    allowedParameters: parseParameters(fields.get('allowed_parameters')),
    deniedParameters: parseParameters(fields.get('denied_parameters')),
    requiredParameters: parseStrings(fields.get('required_parameters')),
    minWrappingTtlSeconds: parseSeconds(fields.get('min_wrapping_ttl')),
    maxWrappingTtlSeconds: parseSeconds(fields.get('max_wrapping_ttl')),
  }
  const { minWrappingTtlSeconds: min, maxWrappingTtlSeconds: max } = rule
  if (max > 0 && max < min) throw new HclError('max_wrapping_ttl cannot be less than min_wrapping_ttl', block)
  return (capabilities & CAPABILITY_BITS.deny) === 0 ? rule : denied(rule.path)
}

/** A rule that denies keeps nothing else. */
const denied = (path: string): PolicyRule => ({
  path,
  capabilities: CAPABILITY_BITS.deny,
  allowedParameters: NO_PARAMETERS,
  deniedParameters: NO_PARAMETERS,
  requiredParameters: [],
  minWrappingTtlSeconds: 0,
  maxWrappingTtlSeconds: 0,
})

/** JSON's null is a field that was not given. Of a key given twice nobody can tell which was meant. */
const fieldsOf = (body: HclBody): Map<string, HclItem> => {
  const fields = new Map<string, HclItem>()
  for (const item of body.items) {
    if (item.value.kind === 'null') continue
    if (fields.has(item.key)) throw new HclError(`${JSON.stringify(item.key)} is set twice`, item)
    fields.set(item.key, item)
  }
  return fields
}

const parsePath = (block: HclBlock): string => {
  const path = (block.labels[0] ?? '').replace(/^\//, '')
  if (path.includes('+*')) {
    throw new HclError(`path ${JSON.stringify(path)}: invalid use of wildcards ('+*' is forbidden)`, block)
  }
  if (path.length > LIMITS.rulePathCharactersMax) {
    throw new HclError(`the path is longer than ${LIMITS.rulePathCharactersMax} characters`, block)
  }
  return path
}

const parseOldWord = (item: HclItem | undefined): number => {
  const word = item ? stringOf(unlabelled(item)) : ''
  const capabilities = Object.hasOwn(OLD_POLICY_WORDS, word) ? OLD_POLICY_WORDS[word] : undefined
  if (item && word !== '' && !capabilities) throw new HclError(`invalid policy ${JSON.stringify(word)}`, item.value)
  return bitsOf(capabilities ?? [])
}

const parseCapabilities = (item: HclItem | undefined): number => {
  const found: Capability[] = []
  for (const value of valuesOf(item)) {
    const word = stringOf(value)
    if (isCapability(word)) found.push(word)
    else if (!IGNORED_CAPABILITIES.includes(word)) {
      throw new HclError(`invalid capability ${JSON.stringify(word)}`, value)
    }
  }
  return bitsOf(found)
}

const parseParameters = (item: HclItem | undefined): ParameterLists => {
  if (!item) return NO_PARAMETERS
  const body: HclBody = { items: [item], line: item.line, column: item.column }
  const lists = new Map<string, readonly PlainValue[]>()
  for (const parameter of blocksOf(body, item.key, 0).flatMap((block) => block.body.items)) {
    const name = parameter.key.toLowerCase()
    if (lists.has(name)) throw new HclError(`${JSON.stringify(name)} is set twice`, parameter)
    lists.set(name, valuesOf(parameter).map(plainValue))
  }
  return lists
}

const parseStrings = (item: HclItem | undefined): string[] => valuesOf(item).map(stringOf)

const parseSeconds = (item: HclItem | undefined): number => {
  if (!item) return 0
  const value = unlabelled(item)
  const text = value.kind === 'number' ? value.text : stringOf(value)
  const ms = text === '' ? 0 : parseDurationMs(text)
  if (ms === undefined || ms < 0) throw new HclError(`${JSON.stringify(text)} is no duration`, value)
  return ms / 1000
}

const unlabelled = (item: HclItem): HclValue => {
  const label: HclPosition | undefined = item.labels[0]
  if (label) throw new HclError(`${item.key} takes no label`, label)
  return item.value
}

const valuesOf = (item: HclItem | undefined): readonly HclValue[] => {
  if (!item) return []
  const value = unlabelled(item)
  if (value.kind !== 'list') throw new HclError(`${item.key} must be a list`, value)
  return value.values
}

const stringOf = (value: HclValue): string => {
  if (value.kind !== 'string') throw new HclError('a string was expected', value)
  return value.value
}
