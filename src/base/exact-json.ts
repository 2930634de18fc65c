import { type JsonObject, type JsonValue, RawNumber } from './json.js'

/**
 * Parses JSON as strictly as `JSON.parse`. Numbers that JavaScript would print differently are kept as text, and
 * objects have no prototype. Implemented here because `JSON.parse` provides the text of a number only from Node 22.
 * Throws SyntaxError, also for nesting beyond `depthMax` levels; without `depthMax`, the caller must have limited the
 * nesting.
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

/** Matches a number as far as its characters reach, and may match less than a number. */
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
    if (this.#at < this.#text.length) throw new SyntaxError('there is more than one value')
    return value
  }

  #value(): JsonValue {
    switch (this.#peek()) {
      case OPEN_BRACE: {
        const object: JsonObject = Object.create(null)
        this.#sequence(CLOSE_BRACE, 'an object is not closed', () => {
          if (this.#peek() !== QUOTE) throw new SyntaxError('a name was expected')
          const name = this.#string()
          if (!this.#takes(COLON)) throw new SyntaxError('a colon was expected')
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

  /** Reads what is between two brackets, one level deeper. */
  #sequence(close: number, unclosed: string, readOne: () => void): void {
    if (++this.#depth > this.#depthMax) throw new SyntaxError(`it is nested deeper than ${this.#depthMax} levels`)
    this.#at++
    if (!this.#takes(close)) {
      do readOne()
      while (this.#takes(COMMA))
      if (!this.#takes(close)) throw new SyntaxError(unclosed)
    }
    this.#depth--
  }

  /**
   * Reads a string. `JSON.parse` validates the text between the quotes: control characters, escapes. A lone surrogate,
   * which only an escape can produce, becomes U+FFFD, as in Vault.
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
    if (!NUMBER.test(literal)) throw new SyntaxError('a digit was expected')
    this.#at += literal.length
    const number = Number(literal)
    return String(number) === literal ? number : new RawNumber(literal)
  }

  #word<T>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) throw new SyntaxError('a word was expected')
    this.#at += word.length
    return value
  }

  /** Returns the next character that is not whitespace. */
  #peek(): number {
    const text = this.#text
    let at = this.#at
    let code = text.charCodeAt(at)
    while (isBlank(code)) code = text.charCodeAt(++at)
    this.#at = at
    return code
  }

  #takes(code: number): boolean {
    if (this.#peek() !== code) return false
    this.#at++
    return true
  }
}
