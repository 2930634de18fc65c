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
const MINUS = 0x2d
const PLUS = 0x2b
const POINT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const COLON = 0x3a
const COMMA = 0x2c

const isBlank = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
const isDigit = (code: number): boolean => code >= ZERO && code <= NINE
const isExponent = (code: number): boolean => code === 0x65 || code === 0x45

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
      case OPEN_BRACE:
        return this.#within(() => this.#object())
      case OPEN_BRACKET:
        return this.#within(() => this.#array())
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

  #within<T>(parse: () => T): T {
    if (++this.#depth > this.#depthMax) throw new SyntaxError(`it is nested deeper than ${this.#depthMax} levels`)
    const value = parse()
    this.#depth--
    return value
  }

  #object(): JsonObject {
    const object: JsonObject = Object.create(null)
    this.#at++
    if (this.#takes(CLOSE_BRACE)) return object
    do {
      if (this.#peek() !== QUOTE) throw new SyntaxError('a name was expected')
      const name = this.#string()
      if (!this.#takes(COLON)) throw new SyntaxError('a colon was expected')
      object[name] = this.#value()
    } while (this.#takes(COMMA))
    if (!this.#takes(CLOSE_BRACE)) throw new SyntaxError('an object does not end')
    return object
  }

  #array(): JsonValue[] {
    const array: JsonValue[] = []
    this.#at++
    if (this.#takes(CLOSE_BRACKET)) return array
    do {
      array.push(this.#value())
    } while (this.#takes(COMMA))
    if (!this.#takes(CLOSE_BRACKET)) throw new SyntaxError('an array does not end')
    return array
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
    const start = this.#at
    if (this.#code() === MINUS) this.#at++
    if (this.#code() === ZERO) this.#at++
    else this.#digits()
    if (this.#code() === POINT) {
      this.#at++
      this.#digits()
    }
    if (isExponent(this.#code())) {
      this.#at++
      if (this.#code() === PLUS || this.#code() === MINUS) this.#at++
      this.#digits()
    }
    const literal = this.#text.slice(start, this.#at)
    const number = Number(literal)
    return String(number) === literal ? number : new RawNumber(literal)
  }

  #digits(): void {
    const text = this.#text
    const start = this.#at
    let at = start
    while (isDigit(text.charCodeAt(at))) at++
    if (at === start) throw new SyntaxError('a digit was expected')
    this.#at = at
  }

  #word<T>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) throw new SyntaxError('a word was expected')
    this.#at += word.length
    return value
  }

  /** Returns the next code unit; NaN at the end. */
  #code(): number {
    return this.#text.charCodeAt(this.#at)
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
