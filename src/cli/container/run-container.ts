import path from 'node:path'
import { runInForeground } from '../../lab/runner/foreground.js'
import { loadServerConfig } from '../../server/config/server-config.js'
import { readLaunchFacts } from './facts.js'
import { decideLaunch, OWN_DIRECTORIES } from './launch.js'
import { becomeAccount, findAccount, giveDirectories } from './privileges.js'
import { outliveReaders } from '../output.js'
import { run } from '../program.js'
import type { StopSignals } from '../stop-signals.js'
import { endOnMistakes } from '../unexpected.js'

/**
 * The first process of a container. Our own program runs within it, as user `vault` when the container was started as
 * root; any other program runs below it as it was started.
 */
export const runContainer = async (signals: StopSignals): Promise<number> => {
  outliveReaders()
  endOnMistakes()
  const launch = decideLaunch(process.argv.slice(2), readLaunchFacts(process.env))
  if (launch.kind === 'program') return runInForeground(launch.command, launch.args)
  if (process.getuid?.() === 0) leaveRoot(launch.args)
  return run([launch.calledAs, ...launch.args], signals)
}

const leaveRoot = (args: readonly string[]): void => {
  const account = findAccount()
  if (!account) return
  const [subcommand, ...flags] = args
  if (subcommand === 'server' && !process.env.SKIP_CHOWN) {
    const complaints = giveDirectories([...OWN_DIRECTORIES, ...configuredDirectories(flags)], account)
    for (const complaint of complaints) process.stderr.write(`note: ${complaint}\n`)
  }
  becomeAccount(account)
}

/** Where the configuration puts data and logs. A configuration with problems is reported by the server itself. */
const configuredDirectories = (flags: readonly string[]): string[] => {
  const { config } = loadServerConfig(flags, process.env)
  if (!config) return []
  return [
    ...(config.storage.path === undefined ? [] : [path.resolve(config.storage.path)]),
    ...(config.log.file === '' ? [] : [path.dirname(path.resolve(config.log.file))]),
  ].filter((directory) => directory !== '/')
}
