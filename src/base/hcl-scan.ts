/** Consumes the tokens of HCL 1: whitespace, comments, words, numbers, quoted strings and heredocs. */
import type { HclCursor } from './hcl-cursor.js'
import type { HclValue } from './hcl-tree.js'

const BLANKS = /[ \t\r\v\f]+/y
const WORD = /[\p{L}_][\p{L}\p{Nd}_.-]*/uy
const NUMBER = /-?(?:0[xX][0-9a-fA-F]+|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)/y
const NUMBER_TAIL = /[\p{L}\p{Nd}_.]/u
const MARKER = /[\p{L}\p{Nd}_]+/uy

/** Skips whitespace, newlines and the three kinds of comments. */
export const skipBlanks = (cursor: HclCursor): void => {
  for (;;) {
    if (cursor.takeMatch(BLANKS) !== '' || cursor.skip('\n')) continue
    if (cursor.peek() === '#' || cursor.startsWith('//')) cursor.takeLine()
    else if (cursor.startsWith('/*')) skipBlockComment(cursor)
    else return
  }
}

const skipBlockComment = (cursor: HclCursor): void => {
  const start = cursor.position()
  cursor.skip('/*')
  while (!cursor.skip('*/')) {
    if (cursor.take() === '') throw cursor.error('the comment is not closed', start)
  }
}

/**
 * Consumes and returns a word: a letter or `_`, then letters, digits, `_`, `-` and `.`. Returns an empty string if no
 * word is next.
 */
export const takeWord = (cursor: HclCursor): string => cursor.takeMatch(WORD)

/**
 * Consumes and returns a number: decimal, hexadecimal (`0x`) or octal (`0`), with fraction and exponent. Returns
 * undefined if no number is next. Throws `HclError` for a malformed number.
 */
export const takeNumber = (cursor: HclCursor): HclValue | undefined => {
  const at = cursor.position()
  const text = cursor.takeMatch(NUMBER)
  if (text === '') return undefined
  if (NUMBER_TAIL.test(cursor.peek())) throw cursor.error('the number is malformed', at)
  const value = numberOf(text)
  if (!Number.isFinite(value)) throw cursor.error(`${text} is not a number`, at)
  return { kind: 'number', value, text, ...at }
}

const numberOf = (text: string): number => {
  const digits = text.replace('-', '')
  const sign = text.startsWith('-') ? -1 : 1
  if (/^0[0-9]+$/.test(digits)) return /[89]/.test(digits) ? Number.NaN : sign * Number.parseInt(digits, 8)
  return sign * Number(digits)
}

const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  '"': '"',
}

/** The numeric escapes, with the number and the radix of their digits. */
const CODE_ESCAPES: Readonly<Record<string, { pattern: RegExp; radix: number }>> = {
  x: { pattern: /[0-9a-fA-F]{2}/y, radix: 16 },
  u: { pattern: /[0-9a-fA-F]{4}/y, radix: 16 },
  U: { pattern: /[0-9a-fA-F]{8}/y, radix: 16 },
}
const OCTAL = { pattern: /[0-7]{3}/y, radix: 8 }

/**
 * Consumes and returns a string in double quotes. The cursor is at the opening quote. Text in `${ }` stays unchanged,
 * including quotes. Throws `HclError` for an unclosed string and for an unknown escape.
 */
export const takeQuoted = (cursor: HclCursor): string => {
  const start = cursor.position()
  cursor.take()
  let text = ''
  let braces = 0
  for (;;) {
    const char = cursor.peek()
    if (char === '' || (char === '\n' && braces === 0)) throw cursor.error('the string is not closed', start)
    if (char === '"' && braces === 0) break
    if (braces === 0 && char === '\\') {
      text += takeEscape(cursor)
      continue
    }
    if (braces === 0 && cursor.skip('${')) {
      braces = 1
      text += '${'
      continue
    }
    if (braces > 0) braces += char === '{' ? 1 : char === '}' ? -1 : 0
    text += cursor.take()
  }
  cursor.take()
  return text
}

const takeEscape = (cursor: HclCursor): string => {
  const at = cursor.position()
  cursor.take()
  const letter = cursor.peek()
  const simple = SIMPLE_ESCAPES[letter]
  if (simple !== undefined) {
    cursor.take()
    return simple
  }
  const code = CODE_ESCAPES[letter]
  if (code) cursor.take()
  const { pattern, radix } = code ?? OCTAL
  const digits = cursor.takeMatch(pattern)
  const point = Number.parseInt(digits, radix)
  if (digits === '' || point > 0x10ffff) throw cursor.error('the escape is unknown', at)
  return String.fromCodePoint(point)
}

/**
 * Consumes and returns a heredoc. The cursor is at `<<`. After `<<-`, the closing marker may be indented. If all lines
 * have the indentation of the marker, it is removed from them. Throws `HclError` for a malformed marker and for an
 * unclosed heredoc.
 */
export const takeHeredoc = (cursor: HclCursor): string => {
  const start = cursor.position()
  cursor.skip('<<')
  const isIndented = cursor.skip('-')
  const marker = cursor.takeMatch(MARKER)
  if (marker === '' || cursor.takeLine()?.trim() !== '') throw cursor.error('the heredoc marker is malformed', start)
  const lines: string[] = []
  for (;;) {
    const line = cursor.takeLine()
    if (line === undefined) throw cursor.error('the heredoc is not closed', start)
    const bare = line.trimEnd()
    if ((isIndented ? bare.trimStart() : bare) === marker) return joinHeredoc(lines, bare.slice(0, -marker.length))
    lines.push(line)
  }
}

const joinHeredoc = (lines: readonly string[], indent: string): string => {
  const isCommon = lines.every((line) => line.startsWith(indent) || line.trim() === '')
  return isCommon
    ? lines.map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line)).join('')
    : lines.join('')
}
