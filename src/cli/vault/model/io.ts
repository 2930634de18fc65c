import type { Clock } from '../../../base/clock.js'
import type { Random } from '../../../base/random.js'

/** The injected environment of the command line. Tests pass their own. */
export interface VaultIo {
  readonly env: Readonly<Record<string, string | undefined>>
  /** The directory of `.vault-token`. */
  readonly homeDirectory: string
  readonly isStdoutTty: boolean
  readonly clock: Pick<Clock, 'sleep'>
  readonly random: Random
  /** Writes to standard output, unchanged. */
  write(data: string | Uint8Array): void
  /** Writes a line to standard error. */
  complain(text: string): void
  /** Reads standard input to its end. Can be called once. */
  readStdin(): Promise<Buffer>
  /** Reads a line from the terminal without echo, or the next line of standard input if it is not a terminal. */
  ask(prompt: string): Promise<string>
  /** Runs `server` with these arguments until it ends. */
  serve(args: readonly string[]): Promise<number>
}
