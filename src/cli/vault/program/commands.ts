/** All commands by name, and texts about them. */
import type { Command } from '../command.js'
import { dataCommands } from '../data.js'
import { COMMON_FLAGS, type FlagTable } from '../flags.js'
import { kvCommands } from '../kv/commands.js'
import { loginCommands } from '../login.js'
import { mountCommands } from '../mounts.js'
import { generateRootCommand } from '../operator/generate-root.js'
import { initCommand } from '../operator/init.js'
import { autopilotCommands, raftCommands } from '../operator/raft.js'
import { rekeyCommand } from '../operator/rekey.js'
import { sealCommands, statusCommand } from '../operator/seal.js'
import { policyCommands } from '../policy.js'
import { systemCommands, versionHistoryCommand } from '../system.js'
import { tokenCommands } from '../token.js'

const reference = (name: string) => `use the ${name} of the reference, which works against this server.`
const noEngine = 'there is no such secret engine here; those that are mounted are listed by secrets list.'

/** Vault commands that are not supported, with the reason. */
const REASONS: Readonly<Record<string, string>> = {
  agent: reference('agent'),
  proxy: reference('proxy'),
  plugin: 'auth methods and secret engines are built in, and there is no catalog to read or to change.',
  'namespace lock': 'the API of a namespace cannot be locked here.',
  'namespace unlock': 'the API of a namespace cannot be locked here, so none is.',
  'operator diagnose':
    'understudy doctor looks at the machine, and the server lists all that is wrong with its configuration.',
  'operator import': 'there are no sources to import from here.',
  'operator migrate': 'there is one kind of storage here, and nothing to move data from.',
  'operator usage': 'clients are not counted here.',
  'operator utilization': 'nothing is counted here for a report.',
  debug: 'the server has neither profiles nor loggers to collect; its metrics are below sys/metrics.',
  monitor: 'the server does not stream its log; read it where the server writes it.',
  events: 'there are no event notifications here.',
  hcp: 'there is no cloud to connect to here.',
  pki: noEngine,
  ssh: noEngine,
  transit: 'keys cannot be imported here; the engine transit makes its own.',
  transform: noEngine,
}

const refusedCommands: readonly Command[] = Object.entries(REASONS).map(([name, reason]) => ({
  name,
  usage: '',
  summary: '',
  flags: {},
  refusal: `vault ${name} is refused: ${reason}`,
  run: () => Promise.reject(new Error('a refused command does not run')),
}))

const ALL: readonly Command[] = [
  statusCommand,
  ...loginCommands,
  ...dataCommands,
  ...kvCommands,
  ...mountCommands,
  ...policyCommands,
  ...systemCommands,
  ...tokenCommands,
  initCommand,
  ...sealCommands,
  generateRootCommand,
  rekeyCommand,
  ...raftCommands,
  ...autopilotCommands,
  versionHistoryCommand,
  ...refusedCommands,
]

export const COMMANDS: ReadonlyMap<string, Command> = new Map(ALL.map((command) => [command.name, command]))

const INTRODUCTION = 'Usage: vault COMMAND [options] [arguments]\n\nA client of the HTTP API. Commands:\n'

/** Commands that are not in the table. */
const WITHOUT_TABLE = [
  { name: 'server', summary: 'Run a server' },
  { name: 'version', summary: 'Print the version' },
]

/** Every command, and every command prefix that stands for a family. */
export const NAMES: ReadonlySet<string> = new Set(
  [...WITHOUT_TABLE, ...ALL].flatMap(({ name }) => {
    const words = name.split(' ')
    return words.map((_, index) => words.slice(0, index + 1).join(' '))
  }),
)

/** Returns true if a command begins with this word. */
export const isVaultWord = (word: string): boolean => NAMES.has(word)

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
