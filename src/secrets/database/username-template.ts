/** Templates of user names: the part of the language that the documentation of Vault uses in its examples. */
import { base62, uuid } from '../../base/id.js'
import type { Clock } from '../../base/clock.js'
import type { Random } from '../../base/random.js'
import { LIMITS } from '../../base/limits.js'
import { sha256Hex } from '../../crypto/digest.js'
import { invalid } from '../../logical/errors.js'

export const DEFAULT_USERNAME_TEMPLATE =
  '{{ printf "v-%s-%s-%s-%s" (.DisplayName | truncate 8) (.RoleName | truncate 8) (random 20) (unix_time) | truncate 63 }}'

interface Sources {
  readonly clock: Clock
  readonly random: Random
  readonly displayName: string
  readonly roleName: string
}

type Value = string | number
type Evaluate = (sources: Sources) => Value

const numberOf = (value: Value | undefined): number => {
  if (typeof value !== 'number' || value < 1) throw refused('a function requires a positive number')
  return value
}

/** The functions by name. The value before a `|` is the last argument. */
const FUNCTIONS: Readonly<Record<string, (sources: Sources, args: readonly Value[]) => Value>> = {
  random: ({ random }, [length]) => base62(random, Math.min(numberOf(length), 128)),
  truncate: (_, [length, text]) => String(text ?? '').slice(0, numberOf(length)),
  truncate_sha256: (_, [length, text]) => truncateHashed(String(text ?? ''), numberOf(length)),
  uppercase: (_, [text]) => String(text ?? '').toUpperCase(),
  lowercase: (_, [text]) => String(text ?? '').toLowerCase(),
  replace: (_, [from, to, text]) => String(text ?? '').replaceAll(String(from), String(to ?? '')),
  sha256: (_, [text]) => sha256Hex(String(text ?? '')),
  unix_time: ({ clock }) => Math.floor(clock.now() / 1000),
  unix_time_millis: ({ clock }) => clock.now(),
  uuid: ({ random }) => uuid(random),
  printf: (_, [format, ...args]) => {
    let at = 0
    return String(format).replaceAll(/%[sdv%]/g, (verb) => (verb === '%%' ? '%' : String(args[at++] ?? '')))
  },
}

const HASH_CHARACTERS = 8

const truncateHashed = (text: string, length: number): string => {
  if (text.length <= length) return text
  if (length <= HASH_CHARACTERS) throw refused('truncate_sha256 requires more than 8 characters')
  const end = length - HASH_CHARACTERS
  return text.slice(0, end) + sha256Hex(text.slice(end)).slice(0, HASH_CHARACTERS)
}

const refused = (why: string) => invalid(`unsupported username_template: ${why}`)

const TOKEN = /\s*(?:("(?:[^"\\]|\\.)*")|(\d+)|(\.\w+)|(\w+)|([()|]))/y

/** Returns the function that a template describes. Throws LogicalError 400 for a template that is not supported. */
export const parseUsernameTemplate = (template: string): ((sources: Sources) => string) => {
  if (template.length > LIMITS.usernameTemplateLengthMax) throw refused('it is too long')
  const parts: Evaluate[] = []
  let end = 0
  for (const { 0: whole, 1: inner = '', index } of template.matchAll(/\{\{-?(.*?)-?\}\}/gs)) {
    const text = template.slice(end, index)
    parts.push(() => text, parseAction(inner))
    end = index + whole.length
  }
  const rest = template.slice(end)
  if (rest.includes('{{')) throw refused('it has an unclosed "{{"')
  return (sources) => parts.map((part) => String(part(sources))).join('') + rest
}

/** Parses the text between the braces: commands, separated by `|`. */
const parseAction = (text: string): Evaluate => {
  const tokens = tokenize(text)
  const value = parsePipeline(tokens)
  if (tokens.length > 0) throw refused(`unexpected ${tokens[0]}`)
  return value
}

const tokenize = (text: string): string[] => {
  const tokens: string[] = []
  TOKEN.lastIndex = 0
  for (let at = 0; text.slice(at).trim() !== ''; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at
    const token = TOKEN.exec(text)?.[0]
    if (token === undefined) throw refused(`unexpected ${JSON.stringify(text.slice(at).trim())}`)
    tokens.push(token.trim())
  }
  return tokens
}

const parsePipeline = (tokens: string[]): Evaluate => {
  let value = parseCommand(tokens, undefined)
  while (tokens[0] === '|') {
    tokens.shift()
    value = parseCommand(tokens, value)
  }
  return value
}

/** Parses a value, or a function with its arguments. `piped` is the value before the `|`. */
const parseCommand = (tokens: string[], piped: Evaluate | undefined): Evaluate => {
  const first = tokens[0] ?? ''
  if (!/^[A-Za-z_]/.test(first)) {
    if (piped) throw refused('"|" must be followed by a function')
    return parseOperand(tokens)
  }
  tokens.shift()
  const apply = Object.hasOwn(FUNCTIONS, first) ? FUNCTIONS[first] : undefined
  if (!apply) throw refused(`the function ${first} is unknown`)
  const args: Evaluate[] = []
  while (tokens.length > 0 && tokens[0] !== '|' && tokens[0] !== ')') args.push(parseOperand(tokens))
  if (piped) args.push(piped)
  return (sources) =>
    apply(
      sources,
      args.map((arg) => arg(sources)),
    )
}

const FIELDS: Readonly<Record<string, Evaluate>> = {
  '.DisplayName': ({ displayName }) => displayName,
  '.RoleName': ({ roleName }) => roleName,
}

const parseOperand = (tokens: string[]): Evaluate => {
  const token = tokens.shift() ?? ''
  if (token === '(') {
    const value = parsePipeline(tokens)
    if (tokens.shift() !== ')') throw refused('a parenthesis is not closed')
    return value
  }
  if (token.startsWith('"')) {
    const text = token.slice(1, -1).replaceAll(/\\(["\\])/g, '$1')
    return () => text
  }
  if (/^\d/.test(token)) return () => Number(token)
  const field = Object.hasOwn(FIELDS, token) ? FIELDS[token] : undefined
  if (field) return field
  // A function without arguments.
  if (Object.hasOwn(FUNCTIONS, token)) return parseCommand([token], undefined)
  throw refused(`unexpected ${JSON.stringify(token)}`)
}
