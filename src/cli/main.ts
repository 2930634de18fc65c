import { outliveReaders } from './terminal/output.js'
import { run } from './program.js'
import type { StopSignals } from './terminal/stop-signals.js'
import { endOnMistakes } from './terminal/unexpected.js'

/** The whole program: runs one command and resolves to the exit status. */
export const main = (argv: readonly string[], signals?: StopSignals): Promise<number> => {
  outliveReaders()
  endOnMistakes()
  return run(argv, signals)
}
