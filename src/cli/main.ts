import { outliveReaders } from './terminal/output.js'
import { run } from './program.js'
import type { StopSignals } from './terminal/stop-signals.js'
import { endOnMistakes } from './terminal/unexpected.js'

/** Runs one command. Resolves to the exit code. */
export const main = (argv: readonly string[], signals?: StopSignals): Promise<number> => {
  outliveReaders()
  endOnMistakes()
  return run(argv, signals)
}
