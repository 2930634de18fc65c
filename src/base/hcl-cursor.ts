import { HclError, type HclPosition } from './hcl-tree.js'
import { LIMITS } from './limits.js'

/** A forward-only position in a text. It tracks line and column, and creates errors with them. */
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

  /** Returns the next character; empty at the end. */
  peek(): string {
    return this.#text.charAt(this.#offset)
  }

  startsWith(prefix: string): boolean {
    return this.#text.startsWith(prefix, this.#offset)
  }

  position(): HclPosition {
    return { line: this.#line, column: this.#offset - this.#lineStart + 1 }
  }

  /** Consumes the next character; empty at the end. */
  take(): string {
    const char = this.peek()
    if (char === '\n') {
      this.#line++
      this.#lineStart = this.#offset + 1
    }
    if (char !== '') this.#offset++
    return char
  }

  /** Consumes a text if it is next. Returns whether it was. */
  skip(text: string): boolean {
    if (!this.startsWith(text)) return false
    for (const _ of text) this.take()
    return true
  }

  /** Consumes the match of a sticky pattern; empty if it does not match. The match must not contain a newline. */
  takeMatch(pattern: RegExp): string {
    pattern.lastIndex = this.#offset
    const match = pattern.exec(this.#text)?.[0] ?? ''
    this.#offset += match.length
    return match
  }

  /** Consumes the rest of the line with its newline; undefined at the end of the text. */
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

  /** Runs `fn` one nesting level deeper. This is the only limit on recursion. */
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
