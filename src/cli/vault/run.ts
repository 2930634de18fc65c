import { VaultApi } from './api.js'
import { CliError, localError, messageOf, VAULT_EXIT } from './cli-error.js'
import type { Command } from './command.js'
import { COMMANDS } from './commands.js'
import { COMMON_FLAGS } from './common-flags.js'
import { flagValues, parseArguments } from './flags.js'
import { describeAll, describeCommand, describeFamily } from './help.js'
import type { VaultIo } from './io.js'
import { Preview } from './preview.js'
import { Output, parseFormat } from './render/output.js'
import { readSettings } from './settings.js'
import { versionLine } from './version.js'

const WORDS_MAX = 4
const VERSION_WORDS: ReadonlySet<string> = new Set(['version', '-v', '-version', '--version'])
const HELP_WORDS: ReadonlySet<string> = new Set(['-h', '-help', '--help', 'help'])
const REFUSED: ReadonlySet<string> = new Set(['agent', 'proxy'])

/** Runs one command of the `vault`-named command line; resolves to the exit status. `args` without the program's name. */
export const runVault = async (args: readonly string[], io: VaultIo): Promise<number> => {
  try {
    return await runNamed(args, io)
  } catch (error) {
    if (error instanceof Preview) {
      io.write(`${error.message}\n`)
      return VAULT_EXIT.ok
    }
    if (!(error instanceof CliError)) {
      io.complain(error instanceof Error ? (error.stack ?? error.message) : messageOf(error))
      return VAULT_EXIT.local
    }
    if (error.message !== '') io.complain(error.message)
    return error.status
  }
}

const runNamed = async (args: readonly string[], io: VaultIo): Promise<number> => {
  const [first = '', ...rest] = args
  if (first === 'server') return io.serve(rest)
  if (VERSION_WORDS.has(first)) {
    io.write(`${versionLine()}\n`)
    return VAULT_EXIT.ok
  }
  if (REFUSED.has(first)) {
    throw localError(`There is no ${first} here: use the ${first} of the reference, which works against this server.`)
  }
  const command = findCommand(args)
  return command ? runCommand(command, args.slice(command.name.split(' ').length), io) : explain(args, io)
}

/** The command with the most words that `args` begin with. */
const findCommand = (args: readonly string[]): Command | undefined => {
  for (let count = Math.min(WORDS_MAX, args.length); count > 0; count--) {
    const command = COMMANDS.get(args.slice(0, count).join(' '))
    if (command) return command
  }
  return undefined
}

const runCommand = async (command: Command, args: readonly string[], io: VaultIo): Promise<number> => {
  const parsed = parseArguments(args, { ...COMMON_FLAGS, ...command.flags })
  if (parsed.isHelpWanted) {
    io.write(describeCommand(command))
    return VAULT_EXIT.ok
  }
  const common = flagValues(COMMON_FLAGS, parsed, io.env)
  const out = new Output(io, parseFormat(common.format), common.field)
  const api = new VaultApi(readSettings(common, io), io)
  try {
    return await command.run({ io, api, out, isInteractive: !common['non-interactive'] }, parsed)
  } finally {
    api.close()
  }
}

/** No command: what there is, on standard output when it was asked for, else as a complaint. */
const explain = (args: readonly string[], io: VaultIo): number => {
  const isAsked = args.some((arg) => HELP_WORDS.has(arg))
  const words = args.filter((arg) => !arg.startsWith('-') && arg !== 'help')
  const family = describeFamily(words)
  if (family !== undefined || words.length === 0) {
    const text = family ?? describeAll()
    if (isAsked) io.write(text)
    else io.complain(text.trimEnd())
    return isAsked ? VAULT_EXIT.ok : VAULT_EXIT.local
  }
  const near = describeFamily(words.slice(0, -1)) ?? 'vault -help lists the commands.'
  throw localError(`There is no command ${JSON.stringify(words.join(' '))}.\n\n${near.trimEnd()}`)
}
