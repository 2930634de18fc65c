import path from 'node:path'
import { readdirSync } from 'node:fs'
import { attempt } from '../../base/attempt.js'

/** The directories of a container's configuration, data and logs. */
const CONFIG_DIRECTORY = '/vault/config'
export const OWN_DIRECTORIES = [CONFIG_DIRECTORY, '/vault/file', '/vault/data', '/vault/logs'] as const

/** Names of this package's program. */
const OWN_NAMES: ReadonlySet<string> = new Set(['vault', 'understudy'])

/** Subcommands of this program for a container; any other word is another program. */
const SUBCOMMANDS: ReadonlySet<string> = new Set(
  [
    'version status login print read write list delete patch unwrap path-help kv secrets auth policy audit lease namespace',
    'token operator license version-history plugin server agent proxy',
    'healthcheck wire wait attach probe up env down topology compose kubernetes drill',
  ].flatMap((line) => line.split(' ')),
)

/** Flags that print information instead of starting a server. */
const INFORMATION_FLAGS: ReadonlySet<string> = new Set(['-v', '-version', '--version', '-h', '-help', '--help'])

/** What a container runs: this program, under the name `calledAs`, or another program. */
type Launch =
  | { readonly kind: 'own'; readonly calledAs: string; readonly args: readonly string[] }
  | { readonly kind: 'program'; readonly command: string; readonly args: readonly string[] }

/** The facts besides the command line that determine what a container runs. */
export interface LaunchFacts {
  /** True if the configuration directory contains a `.hcl` or `.json` file. */
  readonly hasConfigFiles: boolean
  readonly devRootTokenId: string | undefined
  readonly devListenAddress: string | undefined
}

/**
 * Decides what to run. `server ...`, and arguments that begin with a dash, start a server: the defaults of the
 * container precede the flags of the caller, so that these override them. After the name of this program, no default is
 * added.
 */
export const decideLaunch = (args: readonly string[], facts: LaunchFacts): Launch => {
  const [first = '-dev', ...rest] = args
  if (INFORMATION_FLAGS.has(first)) return { kind: 'own', calledAs: 'vault', args }
  if (first.startsWith('-')) return server([first, ...rest], facts)
  if (first === 'server') return server(rest, facts)
  if (OWN_NAMES.has(first)) return { kind: 'own', calledAs: first, args: rest }
  // A lab in a container ends with the container, and is reachable through published ports.
  if (first === 'up')
    return { kind: 'own', calledAs: 'understudy', args: ['up', '--foreground', '--bind', '0.0.0.0', ...rest] }
  if (SUBCOMMANDS.has(first)) return { kind: 'own', calledAs: 'vault', args: [first, ...rest] }
  return { kind: 'program', command: first, args: rest }
}

const server = (args: readonly string[], facts: LaunchFacts): Launch => ({
  kind: 'own',
  calledAs: 'vault',
  args: ['server', ...defaults(args, facts), ...args],
})

const defaults = (args: readonly string[], facts: LaunchFacts): string[] => [
  // If the caller names a file in this directory, the server would read the file twice and bind its listeners twice.
  ...(facts.hasConfigFiles && !namesOwnConfig(args) ? [`-config=${CONFIG_DIRECTORY}`] : []),
  `-dev-root-token-id=${facts.devRootTokenId ?? ''}`,
  `-dev-listen-address=${facts.devListenAddress || '0.0.0.0:8200'}`,
]

const namesOwnConfig = (args: readonly string[]): boolean =>
  args.some((arg, index) => {
    const match = /^--?config(?:=(.*))?$/s.exec(arg)
    const named = match ? (match[1] ?? args[index + 1] ?? '') : ''
    return named !== '' && !path.relative(CONFIG_DIRECTORY, path.resolve(named)).startsWith('..')
  })

/** Reads the facts from the environment variables and the configuration directory of this container. */
export const readLaunchFacts = (env: NodeJS.ProcessEnv): LaunchFacts => ({
  hasConfigFiles: filesOf(CONFIG_DIRECTORY).some((name) => /\.(hcl|json)$/.test(name)),
  devRootTokenId: env.VAULT_DEV_ROOT_TOKEN_ID,
  devListenAddress: env.VAULT_DEV_LISTEN_ADDRESS,
})

const filesOf = (directory: string): string[] => attempt(() => readdirSync(directory)) ?? []
