import type { VaultApi } from './api.js'
import { localError } from './model/cli-error.js'
import { type FlagTable, type FlagValues, flagValues, type ParsedArguments } from './flags.js'
import type { VaultIo } from './model/io.js'
import type { Output } from './render/output.js'

/** The environment of a running command. */
export interface Session {
  readonly io: VaultIo
  readonly api: VaultApi
  readonly out: Output
  readonly isInteractive: boolean
}

export interface Call<F extends FlagTable> extends Session {
  readonly args: readonly string[]
  readonly flags: FlagValues<F>
  /** Returns true if the flag was given on the command line. */
  readonly isGiven: (name: keyof F & string) => boolean
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

interface CommandSpec<F extends FlagTable> {
  readonly name: string
  /** Names of arguments, for help. */
  readonly takes?: string
  /** Minimum and maximum number of arguments. */
  readonly count?: readonly [number, number]
  readonly summary: string
  readonly flags?: F
  readonly run: (call: Call<F>) => Promise<number> | number
}

/** Defines an entry of the table. Its flags are parsed before `run` is called. */
export const defineCommand = <F extends FlagTable = Record<never, never>>(spec: CommandSpec<F>): Command => {
  const { name, takes = '', count: [fewest, most] = [0, 0], summary, run } = spec
  const flags = spec.flags ?? ({} as F)
  return {
    name,
    usage: ['[options]', takes].filter(Boolean).join(' '),
    summary,
    flags,
    run: async (session, parsed) => {
      const args = parsed.positional
      if (args.length < fewest)
        throw localError(`Not enough arguments (expected ${range(fewest, most)}, got ${args.length})`)
      if (args.length > most)
        throw localError(`Too many arguments (expected ${range(fewest, most)}, got ${args.length})`)
      warnOfLateFlags(session, args)
      return run({
        ...session,
        args,
        flags: flagValues(flags, parsed, session.io.env),
        isGiven: (flag) => parsed.written.has(flag),
      })
    },
  }
}

const range = (fewest: number, most: number): string =>
  fewest === most ? String(fewest) : most === ANY ? `at least ${fewest}` : `${fewest}-${most}`

/** For `count`: no maximum. */
export const ANY = Number.POSITIVE_INFINITY

const warnOfLateFlags = ({ out }: Session, args: readonly string[]): void => {
  const late = args.filter((arg) => /^--?[a-z][a-z-]*(?:=|$)/.test(arg))
  if (late.length > 0) {
    out.note(`WARNING! Flags belong before arguments; these were taken for arguments: ${late.join(' ')}`)
  }
}
