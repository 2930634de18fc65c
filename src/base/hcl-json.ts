/**
 * Parses JSON as another spelling of HCL. A comma before a closing bracket is valid, and repeated keys become repeated
 * items.
 */
import type { HclCursor } from './hcl-cursor.js'
import type { HclBody, HclItem, HclPosition, HclValue } from './hcl-tree.js'

const BLANKS = /[ \t\r]+/y
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const WORD = /[a-z]+/y
/** Matches the opening quote of a string and its valid characters: no control characters, and only known escapes. */
const STRING = /"(?:[ !#-[\]-\uFFFF]+|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*/y

/** Parses a whole document, which must be an object. Throws `HclError`. */
export const parseJsonBody = (cursor: HclCursor): HclBody => {
  skipBlanks(cursor)
  const value = parseValue(cursor)
  if (!cursor.isAtEnd) throw cursor.error('unexpected text after the JSON document')
  if (value.kind !== 'object') throw cursor.error('expected an object', value)
  return value.body
}

const skipBlanks = (cursor: HclCursor): void => {
  do cursor.takeMatch(BLANKS)
  while (cursor.skip('\n'))
}

/** Parses one value and the whitespace after it. */
const parseValue = (cursor: HclCursor): HclValue => {
  const value = parseBareValue(cursor)
  skipBlanks(cursor)
  return value
}

const parseBareValue = (cursor: HclCursor): HclValue => {
  const at = cursor.position()
  const next = cursor.peek()
  if (next === '"') return { kind: 'string', value: takeString(cursor), ...at }
  if (next === '{') return { kind: 'object', body: { items: parseMembers(cursor, at), ...at }, ...at }
  if (next === '[') return { kind: 'list', values: parseElements(cursor, at), ...at }
  const text = cursor.takeMatch(NUMBER)
  if (text !== '') return numberAt(cursor, text, at)
  const word = cursor.takeMatch(WORD)
  if (word === 'true' || word === 'false') return { kind: 'bool', value: word === 'true', ...at }
  if (word === 'null') return { kind: 'null', ...at }
  throw cursor.error('expected a JSON value', at)
}

const numberAt = (cursor: HclCursor, text: string, at: HclPosition): HclValue => {
  const value = Number(text)
  if (!Number.isFinite(value)) throw cursor.error(`${text} is not a number`, at)
  return { kind: 'number', value, text, ...at }
}

const parseMembers = (cursor: HclCursor, opened: HclPosition): HclItem[] =>
  parseSequence(cursor, '}', opened, () => {
    const at = cursor.position()
    if (cursor.peek() !== '"') throw cursor.error('expected a key in double quotes')
    const key = takeString(cursor)
    skipBlanks(cursor)
    if (!cursor.skip(':')) throw cursor.error('expected ":" after the key')
    skipBlanks(cursor)
    return { key, labels: [], value: parseValue(cursor), ...at }
  })

const parseElements = (cursor: HclCursor, opened: HclPosition): HclValue[] =>
  parseSequence(cursor, ']', opened, () => parseValue(cursor))

/**
 * Parses the members between two brackets. The cursor is at the opening bracket. Throws `HclError` for invalid JSON.
 */
const parseSequence = <T>(cursor: HclCursor, close: '}' | ']', opened: HclPosition, parseOne: () => T): T[] => {
  cursor.take()
  skipBlanks(cursor)
  const all: T[] = []
  while (!cursor.skip(close)) {
    all.push(cursor.nested(parseOne))
    if (cursor.peek() === close) continue
    if (cursor.isAtEnd) throw cursor.error('the bracket is not closed', opened)
    if (!cursor.skip(',')) throw cursor.error(`expected a comma or "${close}"`)
    skipBlanks(cursor)
  }
  return all
}

const takeString = (cursor: HclCursor): string => {
  const start = cursor.position()
  const text = cursor.takeMatch(STRING)
  if (cursor.peek() === '\\') throw cursor.error('the escape is unknown')
  if (!cursor.skip('"')) throw cursor.error('the string is not closed', start)
  return JSON.parse(`${text}"`)
}
