import { describeEvent } from '../../../lab/daemon/describe.js'
import type { LabHost } from '../../../lab/processes/lab-host.js'
import { openLab } from '../../../lab/live/open-lab.js'
import type { LiveLab } from '../../../lab/live/live-lab.js'
import type { Survey } from '../../../lab/status/survey.js'
import { withInterrupt } from '../../terminal/interrupt.js'
import { onReaderGone, type Output, terminalWidth } from '../../terminal/output.js'
import type { ReadStream, WriteStream } from 'node:tty'
import { printable } from '../../../base/printable.js'

interface WatchOptions {
  readonly name: string
  readonly json?: true
  readonly look: () => Promise<Survey>
  /** With `width`, the text is limited to that many columns. */
  readonly draw: (survey: Survey, width?: number) => string
  readonly host: LabHost
  readonly output: Output
}

const EVERY_MS = 1000
const EVENTS_SHOWN = 8

/** Watches until the user quits, which is the normal end and not an error. */
export const watchStatus = async (options: WatchOptions): Promise<void> => {
  await using lab = openLab(options.name, options.host)
  await withInterrupt(async ({ signal }) => {
    const quit = new AbortController()
    const end = AbortSignal.any([signal, quit.signal, onReaderGone()])
    if (options.json) return printEach(options, end)
    if (!process.stdout.isTTY) return printChanges(lab, options, end)
    // A progress line would appear inside the view, which shows pending responses anyway.
    options.output.hush()
    using screen = new Screen(process.stdout, process.stdin.isTTY ? process.stdin : undefined, () => quit.abort())
    await redraw(lab, screen, options, end)
  })
}

/** Redraws after every event, and each second, because lag grows without events. */
const redraw = async (
  lab: LiveLab,
  screen: Screen,
  { look, draw, host, name }: WatchOptions,
  end: AbortSignal,
): Promise<void> => {
  const last: string[] = []
  let wake = new AbortController()
  const stop = lab.events.subscribe((event) => {
    last.push(describeEvent(event))
    if (last.length > EVENTS_SHOWN) last.shift()
    wake.abort()
  })
  try {
    while (!end.aborted) {
      wake = new AbortController()
      const survey = await look()
      const time = new Date(host.clock.now()).toISOString().slice('2000-01-01T'.length, -1)
      const problems = survey.problems.length > 0 ? survey.problems.map((text) => `! ${text}`) : ['nothing is wrong']
      screen.draw(
        [`${name}  ${time}  (q ends)`, '', draw(survey, terminalWidth()), '', ...problems, '', ...last].join('\n'),
      )
      await host.clock.sleep(EVERY_MS, AbortSignal.any([end, wake.signal])).catch(() => undefined)
    }
  } finally {
    stop()
  }
}

const printEach = async ({ look, host, output }: WatchOptions, end: AbortSignal): Promise<void> => {
  while (!end.aborted) {
    output.data(JSON.stringify(await look()))
    await host.clock.sleep(EVERY_MS, end).catch(() => undefined)
  }
}

/** Prints the status once, then each event as it occurs. */
const printChanges = async (lab: LiveLab, { look, draw, output }: WatchOptions, end: AbortSignal): Promise<void> => {
  const stop = lab.events.subscribe((event) => output.data(describeEvent(event)))
  try {
    const survey = await look()
    output.data(draw(survey))
    for (const text of survey.problems) output.data(`! ${text}`)
    if (!end.aborted) await new Promise((resolve) => end.addEventListener('abort', resolve, { once: true }))
  } finally {
    stop()
  }
}

const ALTERNATE = '\x1b[?1049h\x1b[?25l'
const BACK = '\x1b[?25h\x1b[?1049l'
const HOME = '\x1b[H'
const CLEAR_LINE = '\x1b[K'
const CLEAR_BELOW = '\x1b[J'

const CTRL_C = '\x03'

/**
 * A terminal screen that is redrawn repeatedly, separate from its earlier content. Disposing it restores the terminal;
 * the end of the process does the same.
 */
class Screen implements Disposable {
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

  /** Truncates long lines, because a wrapped line would shift all others. */
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
