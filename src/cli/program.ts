import { readFileSync } from 'node:fs'
import path from 'node:path'
import { Command, CommanderError } from 'commander'
import { LabError } from '../lab/lab-error.js'
import { DEFAULT_REPORTED_VERSION } from '../server/config/config.js'
import { runConfigShow } from './commands/config.js'
import { doctorCommand } from './commands/doctor.js'
import { healthcheckCommand } from './commands/healthcheck.js'
import { downCommand, envCommand, statusCommand, upCommand } from './commands/lab.js'
import { storageCommand } from './commands/storage.js'
import { waitCommand } from './commands/wait.js'
import { wireCommand } from './commands/wire.js'
import { EXIT, exitCodeOf } from './exit-codes.js'
import { createOutput } from './output.js'

const packageVersion = (): string => {
  const file = new URL('../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

/** Commands of ours that the `vault`-named command line does not have; a container may ask for them under either name. */
const OWN_ONLY: ReadonlySet<string> = new Set('healthcheck wire wait up env down storage config doctor'.split(' '))

/** Arguments for the `vault`-named command line: called by that name, or as `understudy vault ...`. */
const findVaultArgs = (calledAs: string, args: readonly string[]): readonly string[] | undefined => {
  if (args[0] === 'vault') return args.slice(1)
  return path.basename(calledAs) === 'vault' && !OWN_ONLY.has(args[0] ?? '') ? args : undefined
}

/**
 * Runs one command and resolves to the exit status. `argv`: the name it was called by, then the arguments. `server` has the
 * reference's flags and is parsed by its own rules.
 */
export const run = async ([calledAs = '', ...args]: readonly string[]): Promise<number> => {
  const output = createOutput({ quiet: args.includes('--quiet') })
  const serve = async (flags: readonly string[]) => {
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
  if (args[0] === 'server') return serve(args.slice(1))
  if (args[0] === 'config' && args[1] === 'show') return runConfigShow(args.slice(2), output)
  const version = `Understudy ${packageVersion()} (reports v${DEFAULT_REPORTED_VERSION})`
  if (['version', '-v', '-version', '--version'].includes(args[0] ?? '')) {
    output.data(version)
    return EXIT.ok
  }
  const program = new Command('understudy')
    .description(
      'Rehearse replication and failover with clusters that speak the Vault HTTP API. An independent simulator.',
    )
    .option('--quiet', 'no progress on standard error')
    .exitOverride()
  program.command('server').description('run one server (-config=PATH or -dev)').allowUnknownOption()
  program
    .command('config')
    .description('show what a server would run with: config show [--origin] [--json] -config=PATH ...')
    .allowUnknownOption()
  const lab = [upCommand(output), statusCommand(output), envCommand(output), downCommand(output)]
  const tools = [doctorCommand, storageCommand, waitCommand, wireCommand, healthcheckCommand].map((make) =>
    make(output),
  )
  for (const command of [...lab, ...tools]) {
    program.addCommand(command.exitOverride())
  }
  program.command('version').description('print the version')
  try {
    await program.parseAsync(args, { from: 'user' })
    return EXIT.ok
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    output.complain(`understudy: ${error instanceof Error ? error.message : String(error)}`)
    if (!(error instanceof LabError) && error instanceof Error && exitCodeOf(error) === EXIT.usage)
      output.complain(error.stack ?? '')
    return exitCodeOf(error)
  }
}
