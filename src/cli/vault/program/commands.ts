/** The table of all commands, and their help texts. */
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

const reference = (name: string) => `use the ${name} of Vault, which works with this server.`
const noEngine = 'this secrets engine is not available. "vault secrets list" lists the mounted engines.'

/** Maps each Vault command that is not supported to the reason. */
const REASONS: Readonly<Record<string, string>> = {
  agent: reference('agent'),
  proxy: reference('proxy'),
  plugin: 'auth methods and secrets engines are built in. "vault read sys/plugins/catalog" lists them.',
  'namespace lock': 'this server cannot lock the API of a namespace.',
  'namespace unlock': 'this server cannot lock the API of a namespace, so no namespace is locked.',
  'operator diagnose':
    '"understudy doctor" checks the machine, and the server lists all problems of its configuration.',
  'operator import': 'this server has no import sources.',
  'operator migrate': 'this program cannot copy data from one storage type to another.',
  'operator usage': 'this server does not count clients.',
  'operator utilization': 'this server collects no data for a utilization report.',
  debug: 'this server has no profiles of Go to collect. Its metrics are at sys/metrics.',
  monitor: 'this client does not stream logs. Use GET /v1/sys/monitor, or read the log file of the server.',
  events: 'this server has no event notifications.',
  hcp: 'this server has no connection to a cloud service.',
  pki: 'this client has no pki commands. Use the API paths, for example: vault write pki/issue/ROLE common_name=NAME',
  ssh: 'this client opens no connections to hosts. Use the API paths, for example: vault write ssh/sign/ROLE public_key=@FILE',
  transit: 'this server cannot import keys. The transit engine generates all keys.',
  transform: noEngine,
}

const refusedCommands: readonly Command[] = Object.entries(REASONS).map(([name, reason]) => ({
  name,
  usage: '',
  summary: 'Not supported',
  flags: {},
  refusal: `vault ${name} is not supported: ${reason}`,
  run: () => Promise.reject(new Error(`the unsupported command ${name} was run`)),
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

/** Commands that are handled outside of the command table. */
const SPECIAL_COMMANDS = [
  { name: 'server', summary: 'Run a server' },
  { name: 'version', summary: 'Print the version' },
]

/** The names of all commands and of all command families, such as `kv` and `kv metadata`. */
export const NAMES: ReadonlySet<string> = new Set(
  [...SPECIAL_COMMANDS, ...ALL].flatMap(({ name }) => {
    const words = name.split(' ')
    return words.map((_, index) => words.slice(0, index + 1).join(' '))
  }),
)

/** Returns true if a command begins with this word. */
export const isFirstWord = (word: string): boolean => NAMES.has(word)

export const describeAll = (): string =>
  `${INTRODUCTION}${lines([...supportedCommands(), ...SPECIAL_COMMANDS])}\n\nvault COMMAND -help prints the flags of one command.\n`

const supportedCommands = (): Command[] => [...COMMANDS.values()].filter(({ refusal }) => refusal === undefined)

/** Describes the commands that begin with these words; undefined if there are none. */
export const describeFamily = (words: readonly string[]): string | undefined => {
  const prefix = `${words.join(' ')} `
  const members = supportedCommands().filter(({ name }) => name.startsWith(prefix))
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
