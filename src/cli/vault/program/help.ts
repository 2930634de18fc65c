/** Texts about commands, made from the command table. */
import type { Command } from '../command.js'
import { COMMANDS } from './commands.js'
import { COMMON_FLAGS } from '../common-flags.js'
import type { FlagTable } from '../flags.js'

const INTRODUCTION = 'Usage: vault COMMAND [options] [arguments]\n\nA client of the HTTP API. Commands:\n'

/** Commands that are not in the table. */
const WITHOUT_TABLE = [
  { name: 'server', summary: 'Run a server' },
  { name: 'version', summary: 'Print the version' },
]

export const describeAll = (): string =>
  `${INTRODUCTION}${lines([...offered(), ...WITHOUT_TABLE])}\n\nvault COMMAND -help prints the flags of one command.\n`

/** Returns the supported commands. */
const offered = (): Command[] => [...COMMANDS.values()].filter(({ refusal }) => refusal === undefined)

/** Describes the commands that begin with these words; undefined if there are none. */
export const describeFamily = (words: readonly string[]): string | undefined => {
  const prefix = `${words.join(' ')} `
  const members = offered().filter(({ name }) => name.startsWith(prefix))
  return words.length === 0 || members.length === 0
    ? undefined
    : `Usage: vault ${words.join(' ')} SUBCOMMAND [options] [arguments]\n${lines(members)}\n`
}

export const describeCommand = ({ name, usage, summary, flags }: Command): string =>
  `Usage: vault ${name} ${usage}\n\n${summary}.\n${section('Options', flags)}${section('Common options', COMMON_FLAGS)}`

const lines = (commands: readonly Pick<Command, 'name' | 'summary'>[]): string => {
  const width = Math.max(...commands.map(({ name }) => name.length))
  return commands.map(({ name, summary }) => `\n  ${name.padEnd(width)}  ${summary}`).join('')
}

const section = (title: string, flags: FlagTable): string => {
  const rows = Object.entries(flags).map(([name, { kind, help, env, aliases }]) => {
    const names = [name, ...aliases].map((each) => `-${each}`).join(', ')
    const from = env.length > 0 ? ` (environment: ${env.join(', ')})` : ''
    return `  ${names}${kind === 'bool' ? '' : `=<${kind}>`}\n      ${help}${from}\n`
  })
  return rows.length === 0 ? '' : `\n${title}:\n\n${rows.join('')}`
}
