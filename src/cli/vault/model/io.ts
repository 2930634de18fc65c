import type { Clock } from '../../../base/clock.js'
import type { Random } from '../../../base/random.js'

/** The surroundings of the command line, all injected: tests bring their own. */
export interface VaultIo {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Where `.vault-token` lies. */
  readonly homeDirectory: string
  readonly isStdoutTty: boolean
  readonly clock: Pick<Clock, 'sleep'>
  readonly random: Random
  /** To standard output, as it is. */
  write(data: string | Uint8Array): void
  /** A line to standard error. */
  complain(text: string): void
  /** Reads standard input to its end; this can be done once. */
  readStdin(): Promise<Buffer>
  /** A line from the terminal that is not shown, or the next line of standard input when that is no terminal. */
  ask(prompt: string): Promise<string>
  /** Runs `server` with these arguments until it ends. */
  serve(args: readonly string[]): Promise<number>
}
