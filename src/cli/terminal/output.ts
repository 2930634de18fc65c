import { printable } from '../../base/printable.js'
import { loadYaml } from '../../lab/documents/yaml-document.js'

/** Data goes to standard output, progress and complaints to standard error. */
export interface Output {
  data(text: string): void
  progress(text: string): void
  complain(text: string): void
  readonly isQuiet: boolean
  /** No progress from now on. */
  hush(): void
}

export const FORMATS = ['table', 'json', 'yaml'] as const
type Format = (typeof FORMATS)[number]

/** The standard streams of this process. What is asked for on the command line is known only once that is read. */
export class ProcessOutput implements Output {
  isQuiet = false
  format: Format = 'table'
  /** Whether a document was printed: as YAML, every other one is told from the one before. */
  #hasPrinted = false
  /** When it last said anything, by the clock of whoever asks. */
  spokeAtMs = 0
  readonly #monotonic: () => number

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  /** Prints a command's JSON, or the same data as YAML where that is asked for. */
  readonly data = (text: string): void => {
    this.#write(process.stdout, this.format === 'yaml' ? this.#toDocument(text) : text)
    this.#hasPrinted = true
  }

  /** Handed on alone, as a listener. */
  readonly progress = (text: string): void => {
    if (!this.isQuiet) this.#write(process.stderr, text)
  }

  readonly complain = (text: string): void => this.#write(process.stderr, text)

  hush(): void {
    this.isQuiet = true
  }

  #toDocument(text: string): string {
    const yaml = toYaml(text)
    return this.#hasPrinted && yaml !== undefined ? `---\n${yaml}` : (yaml ?? text)
  }

  #write(stream: NodeJS.WriteStream, text: string): void {
    this.spokeAtMs = this.#monotonic()
    stream.write(`${printable(text)}\n`)
  }
}

/** Undefined for what is no JSON. */
const toYaml = (text: string): string | undefined => {
  try {
    return loadYaml().stringify(JSON.parse(text)).trimEnd()
  } catch {
    return undefined
  }
}

/**
 * A reader that went away, such as `head`, ends no command in the middle: what it still prints is lost, what it does is done.
 */
export const outliveReaders = (): void => {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
    })
  }
}

/** Aborted when whoever reads standard output went away: what prints without end has nobody to print for. */
export const onReaderGone = (): AbortSignal => {
  const gone = new AbortController()
  process.stdout.once('error', () => gone.abort())
  return gone.signal
}

/** For what is text on a terminal and JSON for a program, unless it is said. */
export const isTextWanted = ({ json, output }: { readonly json?: true; readonly output?: string }): boolean =>
  output === 'table' || (json !== true && process.stdout.isTTY === true)

/** Columns of the terminal that data goes to; 80 where it does not say. */
export const terminalWidth = (): number => process.stdout.columns || 80

/** For what is wrapped to fit: a program that reads it takes lines of any length. */
export const textWidth = (): number => (process.stdout.isTTY ? terminalWidth() : Number.POSITIVE_INFINITY)

const TEXT_MIN = 20

/** Columns as wide as their widest cell. Where a width is given, the last one is text that is wrapped to fit. */
export const formatTable = (rows: readonly (readonly string[])[], width = Number.POSITIVE_INFINITY): string => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
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

/** A row as several, all cells but the last of which are empty from the second on. */
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
