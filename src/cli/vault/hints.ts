/** Advice for after a refusal: which command or flag to try next. */
import type { CliError } from './cli-error.js'
import type { Command } from './command.js'
import type { ParsedArguments } from './flags.js'

const DR_REFUSAL = 'disabled in replication DR secondary mode'

interface Facts {
  readonly command: Command
  readonly written: ParsedArguments['written']
  readonly answer: NonNullable<CliError['answer']>
}

interface Hint {
  readonly applies: (facts: Facts) => boolean
  readonly text: string
}

const lacksDrToken =
  (kind: 'bool' | 'text') =>
  ({ command, written, answer }: Facts): boolean =>
    command.flags['dr-token']?.kind === kind &&
    !written.has('dr-token') &&
    answer.texts.some((text) => text.includes(DR_REFUSAL))

const HINTS: readonly Hint[] = [
  {
    applies: lacksDrToken('text'),
    text: 'This server is a DR secondary: -dr-token=TOKEN shows it an operation token, which operator generate-root -dr-token makes.',
  },
  {
    applies: lacksDrToken('bool'),
    text: 'This server is a DR secondary: with -dr-token this command makes its operation token.',
  },
]

/** Undefined where nothing more can be said. */
export const findHint = (facts: Facts): string | undefined => HINTS.find(({ applies }) => applies(facts))?.text
