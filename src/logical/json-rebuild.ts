import { type JsonObject, type JsonValue, RawNumber } from './json.js'

/**
 * Builds the values of a text that is known to be valid JSON, with numbers kept as text where JavaScript would print them
 * in another way and with objects that inherit nothing.
 */
export const rebuildJson = (text: string): JsonValue => new Rebuilder(text).value()

const BLANK = /[ \t\n\r]*/y
const NUMBER = /-?[0-9.eE+-]+/y
const BACKSLASH = 0x5c

class Rebuilder {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  value(): JsonValue {
    const first = this.#peek()
    if (first === '{') return this.#object()
    if (first === '[') return this.#array()
    if (first === '"') return this.#string()
    if (first === 't') return this.#word('true', true)
    if (first === 'f') return this.#word('false', false)
    if (first === 'n') return this.#word('null', null)
    return this.#number()
  }

  #object(): JsonObject {
    const object: JsonObject = Object.create(null)
    this.#at++
    while (this.#peek() !== '}') {
      if (this.#peek() === ',') this.#at++
      this.#peek()
      const key = this.#string()
      this.#peek()
      this.#at++
      object[key] = this.value()
    }
    this.#at++
    return object
  }

  #array(): JsonValue[] {
    const array: JsonValue[] = []
    this.#at++
    while (this.#peek() !== ']') {
      if (this.#peek() === ',') this.#at++
      array.push(this.value())
    }
    this.#at++
    return array
  }

  #string(): string {
    const start = this.#at
    let end = this.#text.indexOf('"', start + 1)
    while (this.#isEscaped(end)) end = this.#text.indexOf('"', end + 1)
    this.#at = end + 1
    const literal = this.#text.slice(start, this.#at)
    return literal.includes('\\') ? JSON.parse(literal) : literal.slice(1, -1)
  }

  /** A quote after an odd number of backslashes belongs to the string. */
  #isEscaped(quote: number): boolean {
    let before = quote
    while (this.#text.charCodeAt(before - 1) === BACKSLASH) before--
    return (quote - before) % 2 === 1
  }

  #number(): number | RawNumber {
    const literal = this.#take(NUMBER)
    const number = Number(literal)
    return String(number) === literal ? number : new RawNumber(literal)
  }

  #word<T>(word: string, value: T): T {
    this.#at += word.length
    return value
  }

  /** The next character that is no blank. */
  #peek(): string {
    this.#take(BLANK)
    return this.#text.charAt(this.#at)
  }

  #take(token: RegExp): string {
    token.lastIndex = this.#at
    const [taken] = token.exec(this.#text) ?? []
    if (taken === undefined) throw new Error('the text was not valid JSON')
    this.#at += taken.length
    return taken
  }
}
