import type { VaultApi } from './api.js'
import { type FlagTable, type FlagValues, flagValues, type ParsedArguments } from './flags.js'
import { localError, type VaultIo } from './model.js'
import type { Output } from './output.js'
import { cleanPath } from './values.js'

/** The objects that every command uses. */
export interface Session {
  readonly io: VaultIo
  readonly api: VaultApi
  readonly out: Output
  readonly isInteractive: boolean
}

export interface Call<F extends FlagTable = FlagTable> extends Session {
  readonly args: readonly string[]
  /** The first argument as a path, without leading and trailing slashes. */
  readonly at: string
  readonly flags: FlagValues<F>
  /** Returns true if the flag was given on the command line. */
  isGiven(name: keyof F & string): boolean
}

/** One entry of the command table. */
export interface Command {
  /** The words of the command, for example `kv metadata get`. */
  readonly name: string
  /** The arguments as the help shows them, for example `[options] PATH`. */
  readonly usage: string
  readonly summary: string
  readonly flags: FlagTable
  /** The error text of a Vault command that is not supported. Undefined for a supported command. */
  readonly refusal?: string
  readonly run: (session: Session, parsed: ParsedArguments) => Promise<number>
}

type Run<F extends FlagTable> = (call: Call<F>) => Promise<number> | number

/**
 * Returns an entry of the command table. `words` is the name, followed by the arguments in capital letters. Optional
 * arguments are in brackets, and `...` allows any number of arguments. Before `run` is called, the number of arguments
 * is checked and the flags are parsed.
 */
export function command(words: string, summary: string, run: Run<Record<never, never>>): Command
export function command<F extends FlagTable>(words: string, summary: string, flags: F, run: Run<F>): Command
export function command(
  words: string,
  summary: string,
  ...rest: [Run<FlagTable>] | [FlagTable, Run<FlagTable>]
): Command {
  const [flags, run] = rest.length === 1 ? [{}, rest[0]] : rest
  const [, name = '', argumentText = ''] = /^([a-z -]+?)(?: ([A-Z[].*))?$/.exec(words) ?? []
  const [fewest, most] = countArguments(argumentText)
  return {
    name,
    usage: ['[options]', argumentText].filter(Boolean).join(' '),
    summary,
    flags,
    run: async (session, parsed) => {
      const args = parsed.positional
      if (args.length < fewest || args.length > most) {
        const expected = fewest === most ? fewest : most === ANY ? `at least ${fewest}` : `${fewest}-${most}`
        const amount = args.length < fewest ? 'Not enough' : 'Too many'
        throw localError(`${amount} arguments (expected ${expected}, got ${args.length})`)
      }
      warnOfFlagsAfterArguments(session, args)
      return run({
        ...session,
        args,
        at: cleanPath(args[0] ?? ''),
        flags: flagValues(flags, parsed, session.io.env),
        isGiven: (flag) => parsed.written.has(flag),
      })
    },
  }
}

const ANY = Number.POSITIVE_INFINITY

/** Returns the minimum and the maximum number of arguments of a command. */
const countArguments = (argumentText: string): readonly [fewest: number, most: number] => {
  const names = argumentText.replace(/ \| [^\]]+/g, '').match(/\[[^\]]*\]|\S+/g) ?? []
  return [names.filter((name) => !name.startsWith('[')).length, argumentText.includes('...') ? ANY : names.length]
}

/** Returns the flags of `table` that the command line sets, as fields of a request body. `-` in a name becomes `_`. */
export const givenFields = ({ flags, isGiven }: Call, table: FlagTable): Record<string, unknown> =>
  Object.fromEntries(
    Object.keys(table)
      .filter((name) => isGiven(name))
      .map((name) => [name.replaceAll('-', '_'), flags[name]]),
  )

const warnOfFlagsAfterArguments = ({ out }: Session, args: readonly string[]): void => {
  const late = args.filter((arg) => /^--?[a-z][a-z-]*(?:=|$)/.test(arg))
  if (late.length > 0) {
    out.note(`WARNING! Flags must precede arguments; these were treated as arguments: ${late.join(' ')}`)
  }
}
