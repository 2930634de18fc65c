/** Parses password policies, and generates passwords that match them. The policy language is HCL 1 or JSON. */
import { parseHcl } from '../../base/hcl.js'
import { blocksOf, type HclBlock } from '../../base/hcl-blocks.js'
import { type HclBody, HclError, type HclValue } from '../../base/hcl-tree.js'
import { LIMITS } from '../../base/limits.js'
import { NOT_PRINTABLE } from '../../base/printable.js'
import type { Random } from '../../base/random.js'
import { invalidInList, wrapErrorText } from '../../logical/errors.js'

/** A password must contain at least `least` characters of the charset. */
interface CharsetRule {
  readonly charset: ReadonlySet<string>
  readonly least: number
}

interface PasswordPolicy {
  /** Number of characters (code points) of a password. */
  readonly length: number
  readonly rules: readonly CharsetRule[]
  /** The characters of all rules, each once. Every position of a password is a random one of them. */
  readonly letters: readonly string[]
}

/** Parses a password policy. Throws LogicalError 400 if no password can match it. */
export const parsePasswordPolicy = (text: string): PasswordPolicy => {
  const policy = readPolicy(text)
  const problems = problemsOf(policy)
  if (problems.length > 0) throw refused(wrapErrorText(...problems))
  const { passwordCharactersMin: min, passwordCharactersMax: max } = LIMITS
  if (policy.length < min || policy.length > max)
    throw invalidInList(`passwords must be between ${min} and ${max} characters`)
  return policy
}

/**
 * Returns a password in which each position is an independent random character. Returns undefined if none of
 * `passwordCandidatesMax` candidates matches the rules.
 */
export const generatePassword = ({ length, rules, letters }: PasswordPolicy, random: Random): string | undefined => {
  for (let attempt = 0; attempt < LIMITS.passwordCandidatesMax; attempt++) {
    const candidate = pick(letters, length, random)
    const isMatch = rules.every(({ charset, least }) => countIn(candidate, charset) >= least)
    if (isMatch) return candidate.join('')
  }
  return undefined
}

const countIn = (letters: readonly string[], charset: ReadonlySet<string>): number => {
  let count = 0
  for (const letter of letters) if (charset.has(letter)) count++
  return count
}

const readPolicy = (text: string): PasswordPolicy => {
  try {
    const body = parseHcl(text)
    const rules = blocksOf(body, 'rule', 1).map(parseRule)
    const letters = [...new Set(rules.flatMap(({ charset }) => [...charset]))]
    return { length: integerOf(body, 'length'), rules, letters }
  } catch (error) {
    if (error instanceof HclError) throw refused(error.message)
    throw error
  }
}

const refused = (reason: string) => invalidInList(`invalid password policy: ${reason}`)

const parseRule = (block: HclBlock): CharsetRule => {
  const type = block.labels[0] ?? ''
  if (type !== 'charset') throw new HclError(`unrecognized rule type ${type}`, block)
  const charset = findValue(block.body, 'charset')
  if (charset?.kind !== 'string' || charset.value === '')
    throw new HclError('charset must be a string with at least one character', charset ?? block)
  return { charset: new Set(charset.value), least: integerOf(block.body, 'min-chars') }
}

/** Returns the last value of a key, as in HCL. */
const findValue = (body: HclBody, key: string): HclValue | undefined =>
  body.items.findLast((item) => item.key === key && item.value.kind !== 'null')?.value

/** Returns 0 if the key is absent. */
const integerOf = (body: HclBody, key: string): number => {
  const value = findValue(body, key)
  if (value === undefined) return 0
  if (value.kind !== 'number' || !Number.isSafeInteger(value.value))
    throw new HclError(`${key} must be an integer`, value)
  return value.value
}

const problemsOf = ({ length, rules, letters }: PasswordPolicy): string[] => {
  const least = rules.reduce((sum, rule) => sum + Math.max(rule.least, 0), 0)
  const problems: string[] = []
  if (length <= 0) problems.push('length must be > 0')
  else if (length < least)
    problems.push(`specified rules require at least ${least} characters but ${length} is specified`)
  if (letters.length === 0) problems.push('no charset specified')
  else if (letters.some((letter) => NOT_PRINTABLE.test(letter))) problems.push('non-printable character in charset')
  if (letters.length > BYTE_VALUES) problems.push(`charset is too long: limited to ${BYTE_VALUES} characters`)
  return problems
}

/** One random byte chooses a character, so a charset has at most this many. */
const BYTE_VALUES = 256

/** Returns `count` letters. Discards bytes above the largest multiple of the number of letters, to avoid a bias. */
const pick = (letters: readonly string[], count: number, random: Random): string[] => {
  const limit = BYTE_VALUES - (BYTE_VALUES % letters.length)
  const picked: string[] = []
  while (picked.length < count) {
    for (const byte of random.bytes(count - picked.length)) {
      const letter = letters[byte % letters.length]
      if (byte < limit && letter !== undefined) picked.push(letter)
    }
  }
  return picked
}
