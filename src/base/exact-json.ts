import { type JsonObject, type JsonValue, RawNumber } from './json.js'

/**
 * Parses JSON as strictly as `JSON.parse`. A number that JavaScript would print differently becomes a `RawNumber`, and
 * objects have no prototype. Implemented here because `JSON.parse` provides the text of a number only from Node 22.
 * Throws SyntaxError for invalid JSON and for nesting deeper than `depthMax` levels. Without `depthMax`, the caller
 * must limit the nesting.
 */
export const parseExactJson = (text: string, depthMax = Number.POSITIVE_INFINITY): JsonValue =>
  new ThoroughParser(text, depthMax).document()

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const COLON = 0x3a
const COMMA = 0x2c

const isBlank = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09

/** Matches the characters of a number, including incomplete numbers such as `-` or `1.`. */
const NUMBER_LIKE = /-?(?:0|\d*)(?:\.\d*)?(?:[eE][+-]?\d*)?/y
const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/

class ThoroughParser {
  readonly #text: string
  readonly #depthMax: number
  #at = 0
  #depth = 0

  constructor(text: string, depthMax: number) {
    this.#text = text
    this.#depthMax = depthMax
  }

  document(): JsonValue {
    const value = this.#value()
    this.#peek()
    if (this.#at < this.#text.length) throw new SyntaxError('expected the end of the text after the value')
    return value
  }

  #value(): JsonValue {
    switch (this.#peek()) {
      case OPEN_BRACE: {
        const object: JsonObject = Object.create(null)
        this.#sequence(CLOSE_BRACE, 'an object is not closed', () => {
          if (this.#peek() !== QUOTE) throw new SyntaxError('expected a name')
          const name = this.#string()
          if (!this.#skip(COLON)) throw new SyntaxError('expected a colon')
          object[name] = this.#value()
        })
        return object
      }
      case OPEN_BRACKET: {
        const array: JsonValue[] = []
        this.#sequence(CLOSE_BRACKET, 'an array is not closed', () => void array.push(this.#value()))
        return array
      }
      case QUOTE:
        return this.#string()
      case 0x74:
        return this.#word('true', true)
      case 0x66:
        return this.#word('false', false)
      case 0x6e:
        return this.#word('null', null)
      default:
        return this.#number()
    }
  }

  /**
   * Reads the members of an object or an array, up to its closing bracket. Throws SyntaxError for invalid JSON and for
   * too many levels.
   */
  #sequence(close: number, unclosed: string, readOne: () => void): void {
    if (++this.#depth > this.#depthMax) throw new SyntaxError(`nested deeper than ${this.#depthMax} levels`)
    this.#at++
    if (!this.#skip(close)) {
      do readOne()
      while (this.#skip(COMMA))
      if (!this.#skip(close)) throw new SyntaxError(unclosed)
    }
    this.#depth--
  }

  /**
   * Reads a string. `JSON.parse` validates its control characters and escapes. A lone surrogate, which only an escape
   * can produce, becomes U+FFFD, as in Vault.
   */
  #string(): string {
    const text = this.#text
    const start = this.#at
    let at = start
    let code = 0
    do {
      code = text.charCodeAt(++at)
      if (code === BACKSLASH) at++
    } while (code !== QUOTE && at < text.length)
    this.#at = at + 1
    return JSON.parse(text.slice(start, this.#at)).toWellFormed()
  }

  #number(): number | RawNumber {
    NUMBER_LIKE.lastIndex = this.#at
    const literal = NUMBER_LIKE.exec(this.#text)?.[0] ?? ''
    if (!NUMBER.test(literal)) throw new SyntaxError('expected a digit')
    this.#at += literal.length
    const number = Number(literal)
    return String(number) === literal ? number : new RawNumber(literal)
  }

  #word<T>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) throw new SyntaxError('expected a word')
    this.#at += word.length
    return value
  }

  /** Skips whitespace, and returns the code of the next character. */
  #peek(): number {
    const text = this.#text
    let at = this.#at
    let code = text.charCodeAt(at)
    while (isBlank(code)) code = text.charCodeAt(++at)
    this.#at = at
    return code
  }

  #skip(code: number): boolean {
    if (this.#peek() !== code) return false
    this.#at++
    return true
  }
}
