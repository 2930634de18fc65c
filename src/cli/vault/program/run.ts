import { alternatives } from '../../../base/counted.js'
import { printable } from '../../../base/printable.js'
import { VaultApi } from '../api.js'
import type { Command } from '../command.js'
import {
  COMMON_FLAGS,
  type Flag,
  flagValues,
  flagWidth,
  LATE_FLAGS,
  parseArguments,
  type ParsedArguments,
} from '../flags.js'
import { CliError, localError, VAULT_EXIT, type VaultIo } from '../model.js'
import { Output, parseFormat } from '../output.js'
import { Preview, readSettings } from '../settings.js'
import { wrapIndented } from '../text.js'
import { COMMANDS, describeAll, describeCommand, describeFamily, NAMES } from './commands.js'
import { describeUnexpected } from '../../terminal/unexpected.js'
import { editDistance } from '../../../base/nearest.js'
import { DEFAULT_REPORTED_VERSION } from '../../../server/config/tables.js'

const WORDS_MAX = 4
const VERSION_WORDS: ReadonlySet<string> = new Set(['version', '-v', '-version', '--version'])
const HELP_WORDS: ReadonlySet<string> = new Set(['-h', '-help', '--help', 'help'])

/**
 * Runs one command of the `vault` command line. Resolves to the exit code. `args` does not include the program name.
 */
export const runVault = async (args: readonly string[], given: VaultIo): Promise<number> => {
  const io = asPrintable(given)
  try {
    return await runNamed(args, io)
  } catch (error) {
    if (error instanceof Preview) {
      io.write(`${error.message}\n`)
      return VAULT_EXIT.ok
    }
    if (!(error instanceof CliError)) {
      io.complain(describeUnexpected(error))
      return VAULT_EXIT.local
    }
    if (error.message !== '') io.complain(error.message)
    return error.status
  }
}

/** Makes text safe for terminals. Bytes, which are meant for programs and files, stay unchanged. */
const asPrintable = (io: VaultIo): VaultIo => ({
  ...io,
  write: (data) => io.write(typeof data === 'string' ? printable(data) : data),
  complain: (text) => io.complain(printable(text)),
})

const runNamed = async (args: readonly string[], io: VaultIo): Promise<number> => {
  const [first = '', ...rest] = args
  if (first === 'server') return io.serve(rest)
  if (VERSION_WORDS.has(first)) {
    io.write(`${versionLine()}\n`)
    return VAULT_EXIT.ok
  }
  const found = findCommand(args)
  return found ? runCommand(found.command, found.args, io) : handleUnknownCommand(args, io)
}

/**
 * Finds the command at the start of `args`. If several commands match, the command with the most words is used. Common
 * flags may precede or separate the words.
 */
const findCommand = (args: readonly string[]) => {
  const words: string[] = []
  const flags: string[] = []
  /** The command, and the arguments after its words. */
  let found: { readonly command: Command; readonly args: readonly string[] } | undefined
  for (let at = 0; at < args.length && words.length < WORDS_MAX; ) {
    const width = flagWidth(args.slice(at), COMMON_FLAGS)
    if (width > 0) flags.push(...args.slice(at, at + width))
    else words.push(args[at] ?? '')
    at += Math.max(width, 1)
    const command = width === 0 ? COMMANDS.get(words.join(' ')) : undefined
    if (command) found = { command, args: [...flags, ...args.slice(at)] }
  }
  return found
}

const runCommand = async (command: Command, args: readonly string[], io: VaultIo): Promise<number> => {
  if (command.refusal !== undefined) throw localError(command.refusal)
  const parsed = parseArguments(args, { ...COMMON_FLAGS, ...command.flags }, LATE_FLAGS)
  if (parsed.isHelpWanted) {
    io.write(describeCommand(command))
    return VAULT_EXIT.ok
  }
  const common = flagValues(COMMON_FLAGS, parsed, io.env)
  const out = new Output(io, parseFormat(common.format), common.field)
  const api = new VaultApi(readSettings(common, io), io)
  try {
    return await command.run({ io, api, out, isInteractive: !common['non-interactive'] }, parsed)
  } catch (error) {
    throw error instanceof CliError ? withHint(error, command, parsed) : error
  } finally {
    api.close()
  }
}

const DR_REFUSAL = 'disabled in replication DR secondary mode'

/** The hint for a command that a DR secondary rejects, by the kind of the command's flag -dr-token. */
const DR_HINTS: Readonly<Partial<Record<Flag['kind'], string>>> = {
  text: 'This server is a DR secondary. Specify -dr-token=TOKEN with an operation token, which "operator generate-root -dr-token" generates.',
  bool: 'This server is a DR secondary. Specify -dr-token to generate its operation token.',
}

/** Adds a hint about -dr-token to an error if a DR secondary rejected the request and the command has this flag. */
const withHint = (error: CliError, { flags }: Command, { written }: ParsedArguments): CliError => {
  const isOfDr = error.serverErrors.some((text) => text.includes(DR_REFUSAL))
  const hint = flags['dr-token'] && DR_HINTS[flags['dr-token'].kind]
  if (!isOfDr || !hint || written.has('dr-token')) return error
  return new CliError(error.status, `${error.message}\n\n${wrapIndented(hint)}`, { cause: error })
}

/**
 * Handles arguments that name no command. Prints the help if it is requested or if `args` names a command family.
 * Throws a local error with suggestions for an unknown command.
 */
const handleUnknownCommand = (args: readonly string[], io: VaultIo): number => {
  const isHelpRequested = args.some((arg) => HELP_WORDS.has(arg))
  const words = args.filter((arg) => !arg.startsWith('-') && arg !== 'help')
  const family = describeFamily(words)
  if (family !== undefined || words.length === 0) {
    const text = family ?? describeAll()
    if (isHelpRequested) io.write(text)
    else io.complain(text.trimEnd())
    return isHelpRequested ? VAULT_EXIT.ok : VAULT_EXIT.local
  }
  const suggestions = suggest(words, NAMES).map((name) => `"${name}"`)
  const question = suggestions.length > 0 ? `Did you mean ${alternatives(suggestions)}?\n\n` : ''
  const help = describeFamily(words.slice(0, -1)) ?? 'vault -help lists the commands.'
  throw localError(`There is no command ${JSON.stringify(words.join(' '))}.\n\n${question}${help.trimEnd()}`)
}

/** Maximum edit distance between typed words and a suggested name. */
const DISTANCE_MAX = 3
const DISTANCE_SHARE_MAX = 0.4
const SHOWN_MAX = 3

/**
 * Returns the commands that the user may have meant. Returns an empty list if no name is similar. Each name is compared
 * with the same number of typed `words`. If the words begin with a command family, only its commands are suggested.
 */
export const suggest = (words: readonly string[], names: Iterable<string>): string[] => {
  const known = new Set(names)
  const family = words.findLastIndex((_, at) => known.has(words.slice(0, at + 1).join(' '))) + 1
  const within = words.slice(0, family).join(' ')
  const similar = [...known].flatMap((name) => {
    if (family > 0 && !name.startsWith(`${within} `)) return []
    const typed = words.slice(0, name.split(' ').length).join(' ')
    const distance = editDistance(typed, name)
    const count = name.split(' ').length
    const distanceMax = Math.max(1, Math.min(DISTANCE_MAX, name.length * DISTANCE_SHARE_MAX))
    return distance > 0 && distance <= distanceMax ? [{ name, distance, count }] : []
  })
  const fewest = Math.min(...similar.map(({ distance }) => distance))
  const best = similar.filter(({ distance }) => distance === fewest)
  // Among equally similar names, the name with the most words matches more of the command line.
  const most = Math.max(...best.map(({ count }) => count))
  return best
    .filter(({ count }) => count === most)
    .slice(0, SHOWN_MAX)
    .map(({ name }) => name)
}

/** Returns the version line. Its second word must be the version, because scripts parse it. */
const versionLine = (): string => `Vault v${DEFAULT_REPORTED_VERSION} (Understudy, an independent simulator)`
