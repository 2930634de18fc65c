import type { VaultApi } from './api.js'
import { type FlagTable, type FlagValues, flagValues, type ParsedArguments } from './flags.js'
import { localError, type VaultIo } from './model.js'
import type { Output } from './output.js'
import { cleanPath } from './values.js'

/** The environment of a running command. */
export interface Session {
  readonly io: VaultIo
  readonly api: VaultApi
  readonly out: Output
  readonly isInteractive: boolean
}

export interface Call<F extends FlagTable = FlagTable> extends Session {
  readonly args: readonly string[]
  /** The first argument as a path, without outer slashes. */
  readonly at: string
  readonly flags: FlagValues<F>
  /** Returns true if the flag was given on the command line. */
  isGiven(name: keyof F & string): boolean
}

/** One entry of the command table. */
export interface Command {
  /** For example `kv metadata get`. */
  readonly name: string
  /** The arguments as shown in the help: `[options] PATH`. */
  readonly usage: string
  readonly summary: string
  readonly flags: FlagTable
  /** The reason why this Vault command is not supported. */
  readonly refusal?: string
  readonly run: (session: Session, parsed: ParsedArguments) => Promise<number>
}

type Run<F extends FlagTable> = (call: Call<F>) => Promise<number> | number

/**
 * Returns an entry of the command table. `words`: the name, then the arguments in capital letters. Optional arguments are
 * in brackets; `...` means any number. The flags are parsed before `run` is called.
 */
export function command(words: string, summary: string, run: Run<Record<never, never>>): Command
export function command<F extends FlagTable>(words: string, summary: string, flags: F, run: Run<F>): Command
export function command(
  words: string,
  summary: string,
  ...rest: [Run<FlagTable>] | [FlagTable, Run<FlagTable>]
): Command {
  const [flags, run] = rest.length === 1 ? [{}, rest[0]] : rest
  const [, name = '', takes = ''] = /^([a-z -]+?)(?: ([A-Z[].*))?$/.exec(words) ?? []
  const [fewest, most] = countArguments(takes)
  return {
    name,
    usage: ['[options]', takes].filter(Boolean).join(' '),
    summary,
    flags,
    run: async (session, parsed) => {
      const args = parsed.positional
      if (args.length < fewest || args.length > most) {
        const expected = fewest === most ? fewest : most === ANY ? `at least ${fewest}` : `${fewest}-${most}`
        const amount = args.length < fewest ? 'Not enough' : 'Too many'
        throw localError(`${amount} arguments (expected ${expected}, got ${args.length})`)
      }
      warnOfLateFlags(session, args)
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

/** Returns the minimum and maximum number of arguments. */
const countArguments = (takes: string): readonly [fewest: number, most: number] => {
  const places = takes.replace(/ \| [^\]]+/g, '').match(/\[[^\]]*\]|\S+/g) ?? []
  return [places.filter((place) => !place.startsWith('[')).length, takes.includes('...') ? ANY : places.length]
}

/** Returns the flags of `table` from the command line as fields of a body, with underscores in their names. */
export const givenFields = ({ flags, isGiven }: Call, table: FlagTable): Record<string, unknown> =>
  Object.fromEntries(
    Object.keys(table)
      .filter((name) => isGiven(name))
      .map((name) => [name.replaceAll('-', '_'), flags[name]]),
  )

const warnOfLateFlags = ({ out }: Session, args: readonly string[]): void => {
  const late = args.filter((arg) => /^--?[a-z][a-z-]*(?:=|$)/.test(arg))
  if (late.length > 0) {
    out.note(`WARNING! Flags must precede arguments; these were treated as arguments: ${late.join(' ')}`)
  }
}
