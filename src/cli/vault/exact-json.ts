/**
 * JSON whose numbers keep their digits: one that a JavaScript number would change is kept as its text. Answers pass
 * through here on their way to a terminal or a file, and nothing may be lost on it.
 */
export class NumberText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  toString(): string {
    return this.text
  }
}

export type JsonMap = { readonly [key: string]: unknown }

/** Stands for a number on its way through JSON.parse and JSON.stringify. What looks like it but holds no number is left alone. */
const MARK = '\u0000number'
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** Throws SyntaxError. */
export const parseExactJson = (text: string): unknown => {
  const marked = text.replace(TOKEN, (token) =>
    token.startsWith('"') || String(Number(token)) === token ? token : `{${JSON.stringify(MARK)}:"${token}"}`,
  )
  return JSON.parse(marked, (_key, value: unknown) => {
    const digits = isMap(value) ? value[MARK] : undefined
    return typeof digits === 'string' && NUMBER.test(digits) ? new NumberText(digits) : value
  })
}

/** With `indent` spaces for each level, or on one line. */
export const printExactJson = (value: unknown, indent = 0): string => {
  const set: string[] = []
  const mark = (_key: string, item: unknown): unknown => {
    if (item instanceof NumberText) return `${MARK}${set.push(item.text) - 1}`
    // A text that would be taken for a mark is set aside as well.
    return typeof item === 'string' && item.startsWith(MARK) ? `${MARK}${set.push(JSON.stringify(item)) - 1}` : item
  }
  const text = JSON.stringify(value, mark, indent)
  return text.replace(/"\\u0000number(\d+)"/g, (_match, index: string) => set[Number(index)] ?? '')
}

export const isMap = (value: unknown): value is JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof NumberText)

/** The same document with the keys of every object in order. */
export const sortKeys = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (!isMap(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sortKeys(value[key])]),
  )
}
