import { readFileSync } from 'node:fs'
import path from 'node:path'
import { Command, CommanderError } from 'commander'
import { LabError } from '../lab/lab-error.js'
import { DEFAULT_REPORTED_VERSION } from '../server/config/config.js'
import { runConfigShow } from './commands/config.js'
import { doctorCommand } from './commands/doctor.js'
import { healthcheckCommand } from './commands/healthcheck.js'
import { attachCommand } from './commands/lab/attach.js'
import { downCommand } from './commands/lab/down.js'
import { envCommand, execCommand, shellCommand } from './commands/lab/env.js'
import { faultCommand, healCommand } from './commands/lab/fault.js'
import { operationCommands } from './commands/lab/operations.js'
import { logsCommand } from './commands/lab/logs.js'
import { lsCommand } from './commands/lab/ls.js'
import { probeCommand } from './commands/lab/probe.js'
import { serverCommands } from './commands/lab/servers.js'
import { statusCommand } from './commands/lab/status.js'
import { topologyCommand } from './commands/lab/topology.js'
import { upCommand } from './commands/lab/up.js'
import { asksForHelp, describeServerCommand } from './commands/server-help.js'
import { storageCommand } from './commands/storage.js'
import { waitCommand } from './commands/wait.js'
import { wireCommand } from './commands/wire.js'
import { commandTerm, examples } from './help.js'
import { EXIT, exitCodeOf } from './exit-codes.js'
import { createOutput, type Output } from './output.js'

const packageVersion = (): string => {
  const file = new URL('../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

/** Commands of ours that the `vault`-named command line does not have; a container may ask for them under either name. */
const OWN_ONLY: ReadonlySet<string> = new Set(
  'healthcheck wire wait attach probe up ls logs env exec shell down start stop restart crash fault heal events keeper failover switchover rejoin activate topology snapshot reset storage config doctor'.split(
    ' ',
  ),
)

/** Arguments for the `vault`-named command line: called by that name, or as `understudy vault ...`. */
const findVaultArgs = (calledAs: string, args: readonly string[]): readonly string[] | undefined => {
  if (args[0] === 'vault') return args.slice(1)
  return path.basename(calledAs) === 'vault' && !OWN_ONLY.has(args[0] ?? '') ? args : undefined
}

/** What went wrong, in words; the way there only for those who ask for it. */
const describeError = (error: unknown): string => {
  const text = error instanceof Error ? error.message : String(error)
  if (error instanceof LabError || exitCodeOf(error) !== EXIT.usage || !(error instanceof Error)) return text
  return process.env.UNDERSTUDY_DEBUG ? (error.stack ?? text) : `unexpected: ${text} (UNDERSTUDY_DEBUG=1 shows where)`
}

/** Behind `--` arguments are another program's. */
const isQuietAsked = (args: readonly string[]): boolean =>
  args.slice(0, args.includes('--') ? args.indexOf('--') : undefined).includes('--quiet')

/**
 * Runs one command and resolves to the exit status. `argv`: the name it was called by, then the arguments. `server` has the
 * reference's flags and is parsed by its own rules.
 */
export const run = async ([calledAs = '', ...given]: readonly string[]): Promise<number> => {
  const output = createOutput({ quiet: isQuietAsked(given) })
  const args = given[0] === '--quiet' ? given.slice(1) : given
  const serve = async (flags: readonly string[]) => {
    if (asksForHelp(flags)) {
      output.data(describeServerCommand())
      return EXIT.ok
    }
    // Loaded only here: the short commands start several times faster without it.
    const { runServer } = await import('./commands/server.js')
    return runServer(flags, output)
  }
  const vaultArgs = findVaultArgs(calledAs, args)
  if (vaultArgs) {
    const [{ runVault }, { createProcessIo }] = await Promise.all([
      import('./vault/run.js'),
      import('./vault/process-io.js'),
    ])
    return runVault(vaultArgs, createProcessIo(serve))
  }
  return runOwn(asHelpFlag(args), output, serve)
}

/** `help up` is `up --help`, also for the commands that parse their flags by rules of their own. */
const asHelpFlag = (args: readonly string[]): readonly string[] =>
  args[0] === 'help' && args.length > 1 ? [...args.slice(1), '--help'] : args

const runOwn = async (
  args: readonly string[],
  output: Output,
  serve: (flags: readonly string[]) => Promise<number>,
): Promise<number> => {
  const [command = '', ...rest] = args
  if (command === 'server') return serve(rest)
  if (command === 'keeper') {
    const { runKeeper } = await import('./commands/lab/keeper.js')
    return runKeeper(rest, output)
  }
  if (command === 'config' && rest[0] === 'show') return runConfigShow(rest.slice(1), output)
  if (['version', '-v', '-version', '--version'].includes(command)) {
    output.data(`Understudy ${packageVersion()} (reports v${DEFAULT_REPORTED_VERSION})`)
    return EXIT.ok
  }
  let status: number = EXIT.ok
  const program = makeProgram(output, (code) => {
    status = code
  })
  if (command === '') {
    program.outputHelp()
    return EXIT.ok
  }
  try {
    // Left with its flags, a misspelt command would be answered with the help of all.
    await program.parseAsync(isMisspelt(program, command) ? [command] : args, { from: 'user' })
    return status
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    output.complain(`understudy: ${describeError(error)}`)
    return exitCodeOf(error)
  }
}

const isMisspelt = (program: Command, command: string): boolean =>
  !command.startsWith('-') && command !== 'help' && !program.commands.some((known) => known.name() === command)

/** All commands with their flags and their help. `finish` is told the status of a program that ran within one. */
export const makeProgram = (output: Output, finish: (status: number) => void): Command => {
  const program = new Command('understudy')
    .description(
      'Rehearse replication and failover with clusters that speak the Vault HTTP API. An independent simulator.',
    )
    .option('--quiet', 'no progress on standard error')
    .configureHelp({ subcommandTerm: commandTerm })
    .addHelpText(
      'after',
      `${examples('up pr-dr --prove', 'server -dev')}\n\nunderstudy COMMAND --help says more of one.`,
    )
    .exitOverride()
  program.command('server').description('run one server (-config=PATH or -dev)').allowUnknownOption()
  program.command('vault').description('the compatibility command line: a client of any server').allowUnknownOption()
  const config = program.command('config').description('look at the configuration of a server').exitOverride()
  config
    .command('show')
    .description('show what a server would run with, and with --origin where each value came from')
    .allowUnknownOption()
  config.addHelpText('after', examples('config show -config=server.hcl', 'config show --origin -dev'))
  const lab = [
    ...[upCommand, attachCommand, downCommand, lsCommand, statusCommand, envCommand, logsCommand, probeCommand].map(
      (make) => make(output),
    ),
    ...[execCommand, shellCommand].map((make) => make(finish)),
    ...serverCommands(output),
    ...operationCommands(output),
    ...[faultCommand, healCommand, topologyCommand].map((make) => make(output)),
  ]
  const tools = [doctorCommand, storageCommand, waitCommand, wireCommand, healthcheckCommand].map((make) =>
    make(output),
  )
  for (const command of [...lab, ...tools]) {
    program.addCommand(command.exitOverride())
  }
  program.command('version').description('print the version')
  return program
}
