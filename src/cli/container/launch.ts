import path from 'node:path'

/** Where a container's configuration, data and logs are expected. */
export const CONFIG_DIRECTORY = '/vault/config'
export const OWN_DIRECTORIES = [CONFIG_DIRECTORY, '/vault/file', '/vault/data', '/vault/logs'] as const

/** Names by which this package's program is called. */
const OWN_NAMES: ReadonlySet<string> = new Set(['vault', 'understudy'])

/** Subcommands that a container may be started with; everything else is another program. */
const SUBCOMMANDS: ReadonlySet<string> = new Set(
  [
    'version status login print read write list delete patch unwrap path-help kv secrets auth policy audit lease namespace',
    'token operator license version-history plugin server agent proxy',
    'healthcheck wire wait attach probe up env down topology compose kubernetes drill',
  ].flatMap((line) => line.split(' ')),
)

/** Flags that ask about the program instead of starting a server. */
const ASKING: ReadonlySet<string> = new Set(['-v', '-version', '--version', '-h', '-help', '--help'])

/** The container's command line, understood. `calledAs` is the name under which our program is to behave. */
type Launch =
  | { readonly kind: 'own'; readonly calledAs: string; readonly args: readonly string[] }
  | { readonly kind: 'program'; readonly command: string; readonly args: readonly string[] }

export interface LaunchFacts {
  /** Whether the configuration directory holds a file to read. */
  readonly hasConfigFiles: boolean
  readonly devRootTokenId: string | undefined
  readonly devListenAddress: string | undefined
}

/**
 * Tells what to run. `server ...` and a first argument with a dash get the container's defaults in front, so that what the
 * caller says wins; a program of ours that is named in full is run as it was written.
 */
export const decideLaunch = (args: readonly string[], facts: LaunchFacts): Launch => {
  const [first = '-dev', ...rest] = args
  if (ASKING.has(first)) return { kind: 'own', calledAs: 'vault', args }
  if (first.startsWith('-')) return server([first, ...rest], facts)
  if (first === 'server') return server(rest, facts)
  if (OWN_NAMES.has(first)) return { kind: 'own', calledAs: first, args: rest }
  // A lab ends with its container, and is reached by the ports that this publishes.
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
  // A file below the directory that the caller names would be read twice, and its listeners bound twice.
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
