/** Data goes to standard output, progress and complaints to standard error. */
export interface Output {
  data(text: string): void
  progress(text: string): void
  complain(text: string): void
  readonly isQuiet: boolean
}

export const createOutput = (options: { quiet: boolean }): Output => ({
  isQuiet: options.quiet,
  data: (text) => void process.stdout.write(`${text}\n`),
  progress: (text) => {
    if (!options.quiet) process.stderr.write(`${text}\n`)
  },
  complain: (text) => void process.stderr.write(`${text}\n`),
})

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
