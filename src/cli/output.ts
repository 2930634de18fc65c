import { loadYaml } from '../lab/documents/yaml-document.js'

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
  /** When it last said anything, by the clock of whoever asks. */
  spokeAtMs = 0
  readonly #monotonic: () => number

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  /** What a command prints as JSON is YAML when that is asked for: the same data. */
  readonly data = (text: string): void => this.#write(process.stdout, this.format === 'yaml' ? toYaml(text) : text)

  /** Handed on alone, as a listener. */
  readonly progress = (text: string): void => {
    if (!this.isQuiet) this.#write(process.stderr, text)
  }

  readonly complain = (text: string): void => this.#write(process.stderr, text)

  hush(): void {
    this.isQuiet = true
  }

  #write(stream: NodeJS.WriteStream, text: string): void {
    this.spokeAtMs = this.#monotonic()
    stream.write(`${text}\n`)
  }
}

const toYaml = (text: string): string => {
  try {
    return loadYaml().stringify(JSON.parse(text)).trimEnd()
  } catch {
    return text
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

/** Columns as wide as their widest cell. */
export const formatTable = (rows: readonly (readonly string[])[]): string => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
