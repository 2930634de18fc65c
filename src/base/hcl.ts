/**
 * Parses HCL 1, the language of policies and of server configuration, and JSON as another spelling of HCL. Returns a
 * tree, or throws `HclError` with line and column. Limits the length of the text and the nesting. Implemented here
 * because of these limits, the positions and Vault's error texts.
 */
import { HclCursor } from './hcl-cursor.js'
import { parseJsonBody } from './hcl-json.js'
import { skipBlanks, takeHeredoc, takeNumber, takeQuoted, takeWord } from './hcl-scan.js'
import type { HclBody, HclItem, HclLabel, HclPosition, HclValue } from './hcl-tree.js'

export const isJsonText = (text: string): boolean => /^\uFEFF?\s*\{/.test(text)

/** Parses a whole document. A text that starts with `{` is JSON. Throws `HclError`, which contains `file`. */
export const parseHcl = (text: string, options: { file?: string } = {}): HclBody => {
  const cursor = new HclCursor(text, options.file)
  if (isJsonText(text)) return parseJsonBody(cursor)
  const body = parseItems(cursor)
  if (!cursor.isAtEnd) throw cursor.error(`unexpected ${JSON.stringify(cursor.peek())}`)
  return body
}

/**
 * Parses items up to the end of the text or to a closing brace, which it does not consume. Commas may separate the
 * items.
 */
const parseItems = (cursor: HclCursor): HclBody => {
  const start = cursor.position()
  const items: HclItem[] = []
  skipBlanks(cursor)
  while (!cursor.isAtEnd && cursor.peek() !== '}') {
    items.push(parseItem(cursor))
    skipBlanks(cursor)
    if (cursor.skip(',')) skipBlanks(cursor)
  }
  return { items, ...start }
}

const parseItem = (cursor: HclCursor): HclItem => {
  const key = parseKey(cursor)
  const labels: HclLabel[] = []
  for (;;) {
    skipBlanks(cursor)
    const next = cursor.peek()
    if (next === '{') return { key: key.text, labels, value: parseObject(cursor), line: key.line, column: key.column }
    if (next === '=') break
    labels.push(parseKey(cursor))
  }
  if (labels.length > 0) throw cursor.error('expected a block after the labels, not "="')
  cursor.take()
  skipBlanks(cursor)
  return { key: key.text, labels, value: parseValue(cursor), line: key.line, column: key.column }
}

const parseKey = (cursor: HclCursor): HclLabel => {
  const at = cursor.position()
  const text = cursor.peek() === '"' ? takeQuoted(cursor) : takeWord(cursor)
  const isNothing = text === '' && cursor.position().column === at.column
  if (isNothing) throw cursor.error(cursor.isAtEnd ? 'the text ends in the middle of an item' : 'expected a key')
  return { text, ...at }
}

const parseValue = (cursor: HclCursor): HclValue => {
  const at = cursor.position()
  if (cursor.peek() === '"') return { kind: 'string', value: takeQuoted(cursor), ...at }
  if (cursor.startsWith('<<')) return { kind: 'string', value: takeHeredoc(cursor), ...at }
  if (cursor.peek() === '[') return parseList(cursor)
  if (cursor.peek() === '{') return parseObject(cursor)
  const number = takeNumber(cursor)
  if (number) return number
  const word = takeWord(cursor)
  if (word === 'true' || word === 'false') return { kind: 'bool', value: word === 'true', ...at }
  throw cursor.error(word === '' ? 'expected a value' : `${JSON.stringify(word)} is not a value`, at)
}

const parseList = (cursor: HclCursor): HclValue => {
  const at = cursor.position()
  cursor.take()
  const values: HclValue[] = []
  skipCommas(cursor)
  while (!cursor.skip(']')) {
    values.push(cursor.nested(() => parseValue(cursor)))
    skipBlanks(cursor)
    if (cursor.peek() !== ',' && cursor.peek() !== ']') throw unclosed(cursor, 'expected a comma or "]"', at)
    skipCommas(cursor)
  }
  return { kind: 'list', values, ...at }
}

/** Skips the commas between the values of a list. Extra commas are valid. */
const skipCommas = (cursor: HclCursor): void => {
  skipBlanks(cursor)
  while (cursor.skip(',')) skipBlanks(cursor)
}

const parseObject = (cursor: HclCursor): HclValue => {
  const at = cursor.position()
  cursor.take()
  const body = cursor.nested(() => parseItems(cursor))
  if (!cursor.skip('}')) throw unclosed(cursor, 'expected "}"', at)
  return { kind: 'object', body, ...at }
}

/**
 * Returns the error for a missing bracket. At the end of the text, the error has the position of the opening bracket.
 */
const unclosed = (cursor: HclCursor, reason: string, opened: HclPosition) =>
  cursor.isAtEnd ? cursor.error('the bracket is not closed', opened) : cursor.error(reason)
