import type { ReadStream, WriteStream } from 'node:tty'
import type { Command } from 'commander'
import { printable } from '../../../base/printable.js'
import { describeEvent } from '../../../lab/daemon/describe.js'
import type { LiveLab } from '../../../lab/live/live-lab.js'
import { openLab } from '../../../lab/live/open-lab.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { commandIn, requireAnyLab } from '../../../lab/model/lab-directory.js'
import {
  askLosses,
  countLost,
  describeLost,
  describeRestored,
  type FoundLosses,
  restoredBy,
  unlistedLosses,
} from '../../../lab/requests/losses.js'
import { type LabHost, thisHost } from '../../../lab/processes/lab-host.js'
import { drawLabView } from '../../../lab/status/draw.js'
import { withFilters } from '../../../lab/status/filters.js'
import { type LabView, observe } from '../../../lab/status/observe.js'
import { TypedCommand } from '../../terminal/command.js'
import { withInterrupt } from '../../terminal/interrupt.js'
import { formatTable, whenOutputCloses, type Output, terminalWidth } from '../../terminal/output.js'
import { parseTimeout, RESPONSE_TIMEOUT } from './options.js'

/** `understudy status`: shows the topology, the state of all clusters, and problems. Exits with 2 if there are any. */
export const statusCommand = (output: Output): Command =>
  new TypedCommand('status')
    .description('show the replication status and the problems of a lab')
    .lab()
    .flag('-w, --watch', 'refresh every second until q or Ctrl-C; without a terminal, print each change as a line')
    .flag('--timeout <duration>', 'maximum time to wait for each response of a server', RESPONSE_TIMEOUT)
    .json('print JSON; with --watch, print one object per line every second')
    .examples('status', 'status --watch', 'status --name drill --json', 'status --timeout 20s')
    .run(async (flags) => {
      const host = thisHost()
      const timeoutMs = parseTimeout(flags.timeout)
      const read = async () => {
        const lab = requireAnyLab(flags.name)
        return withFilters(lab, await observe(lab, host, timeoutMs), timeoutMs)
      }
      const draw = (view: LabView, width = Number.POSITIVE_INFINITY) =>
        formatTable(fitToWidth(drawLabView(view, host.clock.now()), width))
      if (flags.watch) return watchStatus({ ...flags, read, draw, host, output })
      const survey = await read()
      const losses = flags.json
        ? []
        : describeLosses(flags.name, await askLosses(requireAnyLab(flags.name), true, timeoutMs))
      output.data(flags.json ? JSON.stringify(survey, undefined, 2) : [draw(survey), ...losses].join('\n'))
      if (survey.problems.length > 0) throw new LabError('remote', survey.problems.join('; '))
    })

/** Describes the log entries that each cluster discarded, or that only this cluster still has. */
export const describeLosses = (lab: string, found: readonly FoundLosses[]): string[] =>
  found.flatMap(({ cluster, losses, held, error }) => {
    const restored = describeRestored(restoredBy(losses))
    const texts = [
      ...(countLost(losses) > 0 ? [`discarded ${describeLost(losses)} that its new primary lacked`] : []),
      ...(countLost(held) > 0 ? [`has ${describeLost(held)} that its primary lost`] : []),
      ...unlistedLosses(losses).map(({ reason }) => `has no list of the lost log entries (${reason})`),
      ...unlistedLosses(held).map(({ reason }) => `has no list of the log entries that its primary lost (${reason})`),
      ...(restored === '' ? [] : [`discarded the revocation of ${restored}, which came back`]),
    ]
    return [
      ...texts.map((text) => `${cluster} ${text}: ${commandIn(lab, `losses ${cluster}`)}`),
      // `losses` fails as well.
      ...(error === undefined ? [] : [`${cluster} does not report its lost log entries (${error})`]),
    ]
  })

/** Columns that are omitted on a narrow screen, the first one first. */
const OPTIONAL_COLUMNS = ['process', 'address', 'merkle root', 'wal', 'heartbeat']

/** Spaces between two columns. */
const GAP = 2

/**
 * Fits a table to a screen. `rows`: the header, then the other rows. `width`: in characters. Omits optional columns. If
 * the table is still too wide, moves the column `state` to the end, where the screen truncates it: its beginning
 * matters most.
 */
export const fitToWidth = (rows: readonly (readonly string[])[], width: number): string[][] => {
  let kept = rows.map((row) => [...row])
  for (const name of OPTIONAL_COLUMNS) {
    if (widthOf(kept) <= width) return kept
    const at = kept[0]?.indexOf(name) ?? -1
    if (at >= 0) kept = kept.map((row) => row.toSpliced(at, 1))
  }
  const state = kept[0]?.indexOf('state') ?? -1
  if (widthOf(kept) <= width || state < 0) return kept
  return kept.map((row) => [...row.toSpliced(state, 1), row[state] ?? ''])
}

const widthOf = (rows: readonly (readonly string[])[]): number =>
  (rows[0] ?? [])
    .map((_, column) => Math.max(...rows.map((row) => [...(row[column] ?? '')].length)))
    .reduce((sum, one) => sum + one + GAP, -GAP)

interface WatchOptions {
  readonly name: string
  readonly json?: true
  readonly read: () => Promise<LabView>
  /** Draws a view as text. `width`: maximum width in characters. */
  readonly draw: (survey: LabView, width?: number) => string
  readonly host: LabHost
  readonly output: Output
}

const REFRESH_MS = 1000
const EVENTS_SHOWN = 8

/** Shows changes of the status until the operator quits, which is no error. */
const watchStatus = async (options: WatchOptions): Promise<void> => {
  await using lab = openLab(options.name, options.host)
  await withInterrupt(async ({ signal }) => {
    const quit = new AbortController()
    const end = AbortSignal.any([signal, quit.signal, whenOutputCloses()])
    if (options.json) return printEach(options, end)
    if (!process.stdout.isTTY) return printChanges(lab, options, end)
    // Progress messages would break the drawn screen. The view itself shows which servers do not respond.
    options.output.suppressProgress()
    using screen = openScreen(process.stdout, process.stdin.isTTY ? process.stdin : undefined, () => quit.abort())
    await redraw(lab, screen, options, end)
  })
}

/** Redraws the view until `end`: after every event, and every second, because lag grows without events. */
const redraw = async (
  lab: LiveLab,
  screen: Screen,
  { read, draw, host, name }: WatchOptions,
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
      const survey = await read()
      const time = new Date(host.clock.now()).toISOString().slice('2000-01-01T'.length, -1)
      const problems = survey.problems.length > 0 ? survey.problems.map((text) => `! ${text}`) : ['Healthy']
      screen.draw(
        [`${name}  ${time}  (press q to quit)`, '', draw(survey, terminalWidth()), '', ...problems, '', ...last].join(
          '\n',
        ),
      )
      await host.clock.sleep(REFRESH_MS, AbortSignal.any([end, wake.signal])).catch(() => undefined)
    }
  } finally {
    stop()
  }
}

const printEach = async ({ read, host, output }: WatchOptions, end: AbortSignal): Promise<void> => {
  while (!end.aborted) {
    output.data(JSON.stringify(await read()))
    await host.clock.sleep(REFRESH_MS, end).catch(() => undefined)
  }
}

/** Prints the status once, then each event as it occurs. */
const printChanges = async (lab: LiveLab, { read, draw, output }: WatchOptions, end: AbortSignal): Promise<void> => {
  const stop = lab.events.subscribe((event) => output.data(describeEvent(event)))
  try {
    const survey = await read()
    output.data(draw(survey))
    for (const text of survey.problems) output.data(`! ${text}`)
    if (!end.aborted) await new Promise((resolve) => end.addEventListener('abort', resolve, { once: true }))
  } finally {
    stop()
  }
}

/** Control sequences of terminals: alternate screen with a hidden cursor, the normal screen, and parts of a redraw. */
const ALTERNATE_SCREEN = '\x1b[?1049h\x1b[?25l'
const NORMAL_SCREEN = '\x1b[?25h\x1b[?1049l'
const HOME = '\x1b[H'
const CLEAR_LINE = '\x1b[K'
const CLEAR_BELOW = '\x1b[J'

const CTRL_C = '\x03'

interface Screen extends Disposable {
  /** Truncates long lines, because a wrapped line would shift all others. */
  draw(text: string): void
}

/**
 * Opens the alternate screen of the terminal. Disposal and the end of the process restore the terminal. `onQuit`:
 * called for `q` and Ctrl-C.
 */
const openScreen = (out: WriteStream, keys: ReadStream | undefined, onQuit: () => void): Screen => {
  let isOpen = true
  const onKey = (key: Buffer) => {
    if (key.includes('q') || key.includes(CTRL_C)) onQuit()
  }
  const restore = () => {
    if (!isOpen) return
    isOpen = false
    process.off('exit', restore)
    keys?.off('data', onKey)
    keys?.setRawMode(false)
    keys?.pause()
    out.write(NORMAL_SCREEN)
  }
  out.write(ALTERNATE_SCREEN)
  process.once('exit', restore)
  keys?.setRawMode(true)
  keys?.on('data', onKey)
  keys?.resume()
  return {
    draw(text) {
      if (!isOpen) return
      const { columns = 80, rows = 24 } = out
      const lines = printable(text).split('\n').slice(0, rows)
      const shown = lines.map((line) => `${[...line].slice(0, columns).join('')}${CLEAR_LINE}`)
      out.write(`${HOME}${shown.join('\r\n')}${CLEAR_BELOW}`)
    },
    [Symbol.dispose]: restore,
  }
}
