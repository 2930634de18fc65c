import type { ReadStream, WriteStream } from 'node:tty'
import { printable } from '../base/printable.js'

const ALTERNATE = '\x1b[?1049h\x1b[?25l'
const BACK = '\x1b[?25h\x1b[?1049l'
const HOME = '\x1b[H'
const CLEAR_LINE = '\x1b[K'
const CLEAR_BELOW = '\x1b[J'

const CTRL_C = '\x03'

/**
 * A terminal that one picture is shown on again and again, beside what was on it before. Whoever opens it closes it, which
 * leaves the terminal as it was; so does the end of the process, whatever ends it.
 */
export class Screen implements Disposable {
  readonly #out: WriteStream
  readonly #keys: ReadStream | undefined
  readonly #onKey: (key: Buffer) => void
  readonly #restore = () => this[Symbol.dispose]()
  #isOpen = true

  /** `onQuit` is called for `q` and Ctrl-C. */
  constructor(out: WriteStream, keys: ReadStream | undefined, onQuit: () => void) {
    this.#out = out
    this.#keys = keys
    this.#onKey = (key) => {
      if (key.includes('q') || key.includes(CTRL_C)) onQuit()
    }
    out.write(ALTERNATE)
    process.once('exit', this.#restore)
    if (!keys) return
    keys.setRawMode(true)
    keys.on('data', this.#onKey)
    keys.resume()
  }

  /** Cuts off whatever does not fit: a line that wraps would move all others. */
  draw(text: string): void {
    if (!this.#isOpen) return
    const { columns = 80, rows = 24 } = this.#out
    const lines = printable(text).split('\n').slice(0, rows)
    const shown = lines.map((line) => `${[...line].slice(0, columns).join('')}${CLEAR_LINE}`)
    this.#out.write(`${HOME}${shown.join('\r\n')}${CLEAR_BELOW}`)
  }

  [Symbol.dispose](): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    process.off('exit', this.#restore)
    if (this.#keys) {
      this.#keys.off('data', this.#onKey)
      this.#keys.setRawMode(false)
      this.#keys.pause()
    }
    this.#out.write(BACK)
  }
}
