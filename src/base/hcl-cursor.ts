import { HclError, type HclPosition } from './hcl-tree.js'
import { LIMITS } from './limits.js'

/** A position in a text, which only moves forward. Counts lines and columns for error messages. */
export class HclCursor {
  readonly #text: string
  readonly #file: string | undefined
  #offset = 0
  #line = 1
  #lineStart = 0
  #depth = 0

  constructor(text: string, file: string | undefined) {
    this.#text = text
    this.#file = file
    if (text.length > LIMITS.hclCharactersMax) {
      throw this.error(`the text is longer than ${LIMITS.hclCharactersMax} characters`)
    }
    if (text.startsWith('\uFEFF')) this.#offset = 1
  }

  get isAtEnd(): boolean {
    return this.#offset >= this.#text.length
  }

  /** Returns the next character, or an empty string at the end of the text. */
  peek(): string {
    return this.#text.charAt(this.#offset)
  }

  startsWith(prefix: string): boolean {
    return this.#text.startsWith(prefix, this.#offset)
  }

  position(): HclPosition {
    return { line: this.#line, column: this.#offset - this.#lineStart + 1 }
  }

  /** Consumes and returns the next character. Returns an empty string at the end of the text. */
  take(): string {
    const char = this.peek()
    if (char === '\n') {
      this.#line++
      this.#lineStart = this.#offset + 1
    }
    if (char !== '') this.#offset++
    return char
  }

  /** Consumes `text` if it is next. Returns whether it was next. */
  skip(text: string): boolean {
    if (!this.startsWith(text)) return false
    for (const _ of text) this.take()
    return true
  }

  /**
   * Consumes and returns the match of a sticky pattern, which must not contain a newline. Returns an empty string if
   * the pattern does not match.
   */
  takeMatch(pattern: RegExp): string {
    pattern.lastIndex = this.#offset
    const match = pattern.exec(this.#text)?.[0] ?? ''
    this.#offset += match.length
    return match
  }

  /** Consumes and returns the rest of the line with its newline. Returns undefined at the end of the text. */
  takeLine(): string | undefined {
    if (this.isAtEnd) return undefined
    const end = this.#text.indexOf('\n', this.#offset)
    const line = this.#text.slice(this.#offset, end < 0 ? this.#text.length : end + 1)
    this.#offset += line.length
    if (end >= 0) {
      this.#line++
      this.#lineStart = this.#offset
    }
    return line
  }

  /**
   * Runs `fn` one nesting level deeper. Throws `HclError` beyond the maximum depth, which is the only limit on
   * recursion.
   */
  nested<T>(fn: () => T): T {
    if (this.#depth >= LIMITS.hclDepthMax) throw this.error(`nested deeper than ${LIMITS.hclDepthMax} levels`)
    this.#depth++
    const result = fn()
    this.#depth--
    return result
  }

  error(reason: string, at: HclPosition = this.position()): HclError {
    return new HclError(reason, at, this.#file)
  }
}
