import { LIMITS } from './limits.js'

type Read = IteratorResult<Buffer, undefined>

const DONE: Read = { done: true, value: undefined }

/** A stream of lines for one reader. While the reader is too slow, drops lines. */
export class LineStream implements AsyncIterableIterator<Buffer, undefined> {
  readonly #leave: () => void
  #text = ''
  #isEnded = false
  #wake: ((read: Read) => void) | undefined

  /**
   * Calls `open` with a function that receives lines, and a function that ends the stream. `open` returns the function
   * that the stream calls once at its end.
   */
  constructor(open: (write: (line: string) => void, end: () => void) => () => void) {
    this.#leave = open(
      (line) => this.#write(line),
      () => void this.return(),
    )
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<Read> {
    if (this.#text !== '') return this.#take()
    if (this.#isEnded) return DONE
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  async return(): Promise<Read> {
    if (!this.#isEnded) this.#leave()
    this.#isEnded = true
    this.#wakeWith(DONE)
    return DONE
  }

  #write(line: string): void {
    if (this.#isEnded || this.#text.length + line.length > LIMITS.monitorBacklogCharactersMax) return
    this.#text += line
    if (this.#wake) this.#wakeWith(this.#take())
  }

  #take(): Read {
    const value = Buffer.from(this.#text)
    this.#text = ''
    return { value, done: false }
  }

  #wakeWith(read: Read): void {
    const wake = this.#wake
    this.#wake = undefined
    wake?.(read)
  }
}
