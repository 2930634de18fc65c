import path from 'node:path'
import { type Command, CommanderError, Option } from 'commander'
import { systemClock } from '../base/clock.js'
import { ApiUnreachable } from '../client/api-client.js'
import { LabError } from '../lab/model/lab-error.js'
import { DEFAULT_REPORTED_VERSION } from '../server/config/tables.js'
import { runConfigShow } from './commands/config.js'
import { doctorCommand } from './commands/doctor.js'
import { healthcheckCommand } from './commands/healthcheck.js'
import { imageCommand } from './commands/image.js'
import { attachCommand } from './commands/lab/attach.js'
import { downCommand } from './commands/lab/down.js'
import { drillCommand } from './commands/lab/drill.js'
import { envCommand, execCommand, shellCommand } from './commands/lab/env.js'
import { eventsCommand } from './commands/lab/events.js'
import { composeCommand, kubernetesCommand } from './commands/lab/export.js'
import { faultCommand, healCommand, releaseCommand } from './commands/lab/fault.js'
import { operationCommands, serverCommands } from './commands/lab/operations.js'
import { logsCommand } from './commands/lab/logs.js'
import { lsCommand } from './commands/lab/ls.js'
import { lossesCommand } from './commands/lab/losses.js'
import { probeCommand } from './commands/lab/probe.js'
import { runbookCommand } from './commands/lab/runbook.js'
import { statusCommand } from './commands/lab/status.js'
import { resetCommand, snapshotCommand } from './commands/lab/snapshot.js'
import { topologyCommand } from './commands/lab/topology.js'
import { toxiproxyCommand } from './commands/lab/toxiproxy.js'
import { upCommand } from './commands/lab/up.js'
import { webCommand } from './commands/lab/web.js'
import { completionCommand } from './commands/completion.js'
import { asksForHelp, describeServerCommand } from './commands/server-help.js'
import { storageCommand } from './commands/storage.js'
import { waitCommand } from './commands/wait.js'
import { wireCommand } from './commands/lab/wire.js'
import { commandTerm, examples, TypedCommand } from './terminal/command.js'
import { EXIT, exitCodeOf } from './terminal/exit-codes.js'
import { describeFirstHour } from './terminal/first-hour.js'
import { FORMATS, outliveReaders, ProcessOutput } from './terminal/output.js'
import { reportProgress } from './terminal/progress.js'
import { StopSignals } from './terminal/stop-signals.js'
import { describeUnexpected, exitOnUncaughtError } from './terminal/unexpected.js'
import { packageVersion } from '../base/package-version.js'

/**
 * Returns the arguments of the `vault` command line if the program is called as `vault` or as `understudy vault ...`.
 * Otherwise returns undefined. The name `vault` also runs Understudy's own commands, for example in a container.
 */
const findVaultArgs = async (
  calledAs: string,
  args: readonly string[],
  program: Command,
): Promise<readonly string[] | undefined> => {
  const [word = ''] = args
  if (word === 'vault') return args.slice(1)
  if (path.basename(calledAs) !== 'vault') return undefined
  const { isFirstWord } = await import('./vault/program/commands.js')
  return isKnown(program, word) && !isFirstWord(word) ? undefined : args
}

/** Describes an error. The stack trace of an unexpected error is saved to a file. */
const describeError = async (error: unknown): Promise<string> => {
  const unreachable = findUnreachable(error)
  if (unreachable) return (await findReason(unreachable)) ?? (error as Error).message
  const isExpected = error instanceof LabError || exitCodeOf(error) !== EXIT.usage || isOfSystem(error)
  return isExpected ? (error as Error).message : describeUnexpected(error)
}

/** Returns the error, or the cause of a `LabError`, if it is an `ApiUnreachable`. */
const findUnreachable = (error: unknown): ApiUnreachable | undefined => {
  if (error instanceof ApiUnreachable) return error
  return error instanceof LabError && error.cause instanceof ApiUnreachable ? error.cause : undefined
}

/** Returns the reason if the unreachable server belongs to a lab and is paused or stopped. */
const findReason = async ({ url }: ApiUnreachable): Promise<string | undefined> => {
  const [{ explainUnreachable }, { thisHost }] = await Promise.all([
    import('../lab/lifecycle/listing.js'),
    import('../lab/processes/lab-host.js'),
  ])
  return explainUnreachable(url, thisHost())
}

/** Returns true for a system error, for example for an unreadable file. The message of such an error names the file. */
const isOfSystem = (error: unknown): boolean => error instanceof Error && 'syscall' in error

/** Runs one command as the whole process. Parameters and result are those of `run`. */
export const main = (argv: readonly string[], signals?: StopSignals): Promise<number> => {
  outliveReaders()
  exitOnUncaughtError()
  return run(argv, signals)
}

/**
 * Runs one command. Resolves to the exit code. `argv`: the name of the program, then the arguments. `signals`: the
 * signal handlers, if already installed. `server` uses Vault's flags and its own parser.
 */
export const run = async ([calledAs = '', ...args]: readonly string[], signals?: StopSignals): Promise<number> => {
  const output = new ProcessOutput(() => systemClock.monotonic())
  const serve = async (flags: readonly string[]) => {
    if (asksForHelp(flags)) {
      output.data(describeServerCommand())
      return EXIT.ok
    }
    // Imported only here, because short commands start several times faster without it.
    const { runServer } = await import('./commands/server.js')
    return runServer(flags, output, signals ?? new StopSignals(() => process.exit(EXIT.ok)))
  }
  let status: number = EXIT.ok
  const program = makeProgram(output, (code) => {
    status = code
  })
  const vaultArgs = await findVaultArgs(calledAs, args, program)
  if (vaultArgs) {
    const [{ runVault }, { createProcessIo }] = await Promise.all([
      import('./vault/program/run.js'),
      import('./vault/process-io.js'),
    ])
    return runVault(vaultArgs, createProcessIo(serve))
  }
  return (await runOwn(asHelpFlag(args), program, output, serve)) ?? status
}

/** Converts `help up` to `up --help`, also for commands with their own flag parser. */
const asHelpFlag = (args: readonly string[]): readonly string[] =>
  args[0] === 'help' && args.length > 1 ? [...args.slice(1), '--help'] : args

/** Resolves to undefined if the command reported its exit code itself. */
const runOwn = async (
  args: readonly string[],
  program: Command,
  output: ProcessOutput,
  serve: (flags: readonly string[]) => Promise<number>,
): Promise<number | undefined> => {
  const [command = '', ...rest] = args
  if (command === 'server') return serve(rest)
  if (command === 'config' && rest[0] === 'show') return runConfigShow(rest.slice(1), output)
  if (['-version', '--version'].includes(command) || (command === '-v' && rest.length === 0)) {
    output.data(describeVersion())
    return EXIT.ok
  }
  if (command === '') {
    program.outputHelp()
    return EXIT.ok
  }
  let reporting: Disposable | undefined
  program.hook('preAction', () => {
    reporting = reportProgress(output, systemClock, program.opts().verbose === true)
  })
  try {
    // Drops the flags of a misspelled command, because they would print the general help instead of a suggestion.
    await program.parseAsync(isMisspelt(program, command) ? [command] : args, { from: 'user' })
    return undefined
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    output.complain(`understudy: ${await describeError(error)}`)
    return exitCodeOf(error)
  } finally {
    reporting?.[Symbol.dispose]()
  }
}

const describeVersion = (): string => `Understudy ${packageVersion()} (reports v${DEFAULT_REPORTED_VERSION})`

const isKnown = (program: Command, word: string): boolean => program.commands.some((known) => known.name() === word)

const isMisspelt = (program: Command, command: string): boolean =>
  !command.startsWith('-') && command !== 'help' && !isKnown(program, command)

/** Creates all commands with their flags and help. `finish` receives the exit code of a program that a command runs. */
export const makeProgram = (output: ProcessOutput, finish: (status: number) => void): Command => {
  const program = new TypedCommand('understudy')
    .description(
      `Rehearse replication and failover on simulated clusters that serve the Vault HTTP API. An independent simulator.\n\n${describeFirstHour()}`,
    )
    .addHelpText(
      'after',
      `${examples('up pr-dr --prove', 'server -dev')}\n\nunderstudy COMMAND --help describes one command.`,
    )
  const makeAll = (makers: readonly ((output: ProcessOutput) => Command)[]) => makers.map((make) => make(output))
  const groups = {
    Lab: makeAll([
      ...[upCommand, downCommand, resetCommand, lsCommand, snapshotCommand, topologyCommand],
      ...[attachCommand, wireCommand, doctorCommand],
    ]),
    Clusters: [envCommand(output), execCommand(finish), shellCommand(finish), ...serverCommands(output)],
    Replication: [...operationCommands(output), runbookCommand(output)],
    Faults: makeAll([faultCommand, healCommand, releaseCommand, toxiproxyCommand]),
    Drills: [drillCommand(output, finish)],
    Observe: makeAll([
      ...[statusCommand, eventsCommand, logsCommand, webCommand],
      ...[waitCommand, probeCommand, lossesCommand],
    ]),
    Servers: [
      new TypedCommand('server').description('run one server (-config=PATH or -dev)'),
      new TypedCommand('vault').description('run the Vault-compatible client for any server'),
      configCommand(),
      ...makeAll([storageCommand, healthcheckCommand]),
    ],
    Export: makeAll([composeCommand, kubernetesCommand, imageCommand]),
    Other: [completionCommand(output), versionCommand(output)],
  }
  for (const [heading, commands] of Object.entries(groups)) {
    program.commandsGroup(`${heading}:`)
    for (const command of commands) program.addCommand(command)
  }
  // The command `help` joins the last group.
  program.helpCommand(true)
  applySharedOptions(program, output)
  return program
}

const configCommand = (): Command => {
  const config = new TypedCommand('config').description('inspect the configuration of a server')
  config.command('show').description('print the effective configuration of a server')
  return config.examples('config show -config=server.hcl', 'config show --origin -dev')
}

const versionCommand = (output: ProcessOutput): Command =>
  new TypedCommand('version')
    .description('print the version')
    .examples('version', '--version')
    .action(() => output.data(describeVersion()))

/** Applies the options and behavior that all commands share. */
const applySharedOptions = (program: Command, output: ProcessOutput): void => {
  program
    .option('-q, --quiet', 'suppress progress messages')
    .option('-v, --verbose', 'print every HTTP call on standard error')
  for (const command of everyCommand(program)) {
    command
      .exitOverride()
      .configureHelp({ subcommandTerm: commandTerm, showGlobalOptions: true })
      .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'understudy: ')) })
    const hasFlag = (name: string) => command.options.some(({ long }) => long === name)
    if (hasFlag('--json') && !hasFlag('--output')) {
      command.addOption(new Option('-o, --output <format>', 'output format').choices([...FORMATS]))
    }
  }
  program.hook('preAction', (_, command) => {
    const { quiet, output: format, json } = command.optsWithGlobals<{ quiet?: true; output?: string; json?: true }>()
    output.isQuiet = quiet === true
    output.format = FORMATS.find((known) => known === format) ?? (json ? 'json' : 'table')
    if (format === 'json' || format === 'yaml') command.setOptionValueWithSource('json', true, 'cli')
  })
}

/** Returns a command and all its subcommands. */
export const everyCommand = (command: Command): Command[] => [command, ...command.commands.flatMap(everyCommand)]
