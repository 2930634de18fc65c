import { clearScreenDown, moveCursor } from 'node:readline'
import { attempt } from '../../base/attempt.js'
import { systemClock } from '../../base/clock.js'
import { largestOf } from '../../base/extremes.js'
import { printable } from '../../base/printable.js'
import { loadYaml } from '../../lab/documents/yaml-document.js'

/** Data goes to standard output; progress and errors go to standard error. */
export type Output = Pick<ProcessOutput, 'data' | 'progress' | 'complain' | 'suppressProgress' | 'isQuiet'>

/** The number of columns and lines of a terminal that does not report its size. */
const COLUMNS = 80
const LINES = 24

export const FORMATS = ['table', 'json', 'yaml'] as const
type Format = (typeof FORMATS)[number]

/** Writes to the standard streams of this process. `isQuiet` and `format` are set after the command line is parsed. */
export class ProcessOutput implements Output {
  isQuiet = false
  format: Format = 'table'
  /** True after the first document. In YAML, a separator precedes each further document. */
  #hasPrinted = false
  /** Time of the last output, in milliseconds of the monotonic clock. */
  lastOutputMs = 0
  /** Number of progress rows that are now below the output. */
  #rowCount = 0
  readonly #monotonic: () => number

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  /** Prints the data of a command. If YAML is requested, converts JSON to YAML. */
  readonly data = (text: string): void => {
    this.#write(process.stdout, this.format === 'yaml' ? this.#toDocument(text) : text)
    this.#hasPrinted = true
  }

  /** Prints a progress message, unless the operator has suppressed progress. */
  readonly progress = (text: string): void => {
    if (!this.isQuiet) this.#write(process.stderr, text)
  }

  /** Prints an error or a warning. `--quiet` has no effect on it. */
  readonly complain = (text: string): void => this.#write(process.stderr, text)

  /** Suppresses progress messages from now on. */
  suppressProgress(): void {
    this.showRows([])
    this.isQuiet = true
  }

  /** True if progress is shown as rows that change, on a terminal. */
  get isLive(): boolean {
    return !this.isQuiet && process.stderr.isTTY === true
  }

  /** Replaces the progress rows below the output of a terminal. The next output erases them. */
  showRows(rows: readonly string[]): void {
    this.#eraseRows()
    const { columns, rows: lines } = process.stderr
    const shown = rows.slice(0, (lines || LINES) - 1)
    // Truncates each row to one line, because a wrapped row would break the erasure of the rows.
    for (const row of shown)
      process.stderr.write(`${printable(row.split('\n')[0] ?? '').slice(0, (columns || COLUMNS) - 1)}\n`)
    this.#rowCount = shown.length
  }

  #eraseRows(): void {
    if (this.#rowCount === 0) return
    moveCursor(process.stderr, 0, -this.#rowCount)
    clearScreenDown(process.stderr)
    this.#rowCount = 0
  }

  #toDocument(text: string): string {
    const yaml = toYaml(text)
    return this.#hasPrinted && yaml !== undefined ? `---\n${yaml}` : (yaml ?? text)
  }

  #write(stream: NodeJS.WriteStream, text: string): void {
    this.lastOutputMs = this.#monotonic()
    this.#eraseRows()
    stream.write(`${printable(text)}\n`)
  }
}

/** Converts JSON to YAML. Returns undefined if the text is not JSON. */
const toYaml = (text: string): string | undefined => attempt(() => loadYaml().stringify(JSON.parse(text)).trimEnd())

/**
 * Runs the work of a command. With `--json`, then prints one object: `facts`, the progress messages, the duration in
 * milliseconds, and the object with which the work resolves. If the work fails, prints nothing.
 */
export const printResult = async (
  output: Output,
  { json }: { readonly json?: true },
  facts: object,
  work: (onProgress: (text: string) => void) => Promise<unknown>,
): Promise<void> => {
  const begun = systemClock.monotonic()
  const messages: string[] = []
  const result = await work((text) => {
    messages.push(text)
    output.progress(text)
  })
  const tookMs = Math.round(systemClock.monotonic() - begun)
  if (json) output.data(JSON.stringify({ ...facts, messages, tookMs, ...(result as object | undefined) }, undefined, 2))
}

/** Ignores a closed standard output, for example of `head`: the command completes, and its further output is lost. */
export const outliveReaders = (): void => {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
    })
  }
}

/** Returns a signal that is aborted when standard output is closed. A command with endless output must stop then. */
export const whenOutputCloses = (): AbortSignal => {
  const closed = new AbortController()
  process.stdout.once('error', () => closed.abort())
  return closed.signal
}

/** Returns true if output should be text: if `--output table` is set, or on a terminal if no format is set. */
export const isTextWanted = ({ json, output }: { readonly json?: true; readonly output?: string }): boolean =>
  output === 'table' || (json !== true && process.stdout.isTTY === true)

/** Returns the number of columns of the terminal; 80 if unknown. */
export const terminalWidth = (): number => process.stdout.columns || COLUMNS

/** Returns the width at which text is wrapped: that of the terminal. Text for a program is not wrapped. */
export const textWidth = (): number => (process.stdout.isTTY ? terminalWidth() : Number.POSITIVE_INFINITY)

/** Minimum width of a wrapped column. */
const TEXT_MIN = 20

/** Aligns columns to their widest cells. With a width, the last column is wrapped to fit. */
export const formatTable = (rows: readonly (readonly string[])[], width = Number.POSITIVE_INFINITY): string => {
  const widths = (rows[0] ?? []).map((_, column) => largestOf(rows.map((row) => row[column]?.length ?? 0)))
  const before = widths.slice(0, -1).reduce((sum, one) => sum + one + 2, 0)
  return rows
    .flatMap((row) => wrapLast(row, Math.max(width - before, TEXT_MIN)))
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Wraps the last cell of a row into several rows. Their other cells are empty, except in the first row. */
const wrapLast = (row: readonly string[], width: number): (readonly string[])[] => {
  const text = row.at(-1) ?? ''
  if (text.length <= width) return [row]
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`
    if (lines.length > 0 && longer.length <= width) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines.map((line, index) => [...row.slice(0, -1).map((cell) => (index === 0 ? cell : '')), line])
}
