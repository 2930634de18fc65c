import path from 'node:path'
import { runInForeground } from '../lab/runner/foreground.js'
import { loadServerConfig } from '../server/config/server-config.js'
import { decideLaunch, OWN_DIRECTORIES, readLaunchFacts } from './container/launch.js'
import { outliveReaders } from './terminal/output.js'
import { run } from './program.js'
import type { StopSignals } from './terminal/stop-signals.js'
import { exitOnUncaughtError } from './terminal/unexpected.js'
import { lchownSync, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { makeDirectory } from '../base/make-directory.js'
import { messageOf } from '../base/printable.js'

/**
 * Runs the first process of a container. A program of this package runs in this process, as user `vault` if the
 * container was started as root. Any other program runs as a child process without changes.
 */
export const runContainer = async (signals: StopSignals): Promise<number> => {
  outliveReaders()
  exitOnUncaughtError()
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

/** Returns the data and log directories of the configuration. The server reports problems of the configuration. */
const configuredDirectories = (flags: readonly string[]): string[] => {
  const { config } = loadServerConfig(flags, process.env)
  if (!config) return []
  return [
    ...(config.storage.path === undefined ? [] : [path.resolve(config.storage.path)]),
    ...(config.log.file === '' ? [] : [path.dirname(path.resolve(config.log.file))]),
  ].filter((directory) => directory !== '/')
}

const USER = 'vault'

interface Account {
  readonly name: string
  readonly uid: number
  readonly gid: number
  readonly home: string
}

/** Returns the account that servers use; undefined if the system has none. */
const findAccount = (): Account | undefined => {
  for (const line of readFileSync('/etc/passwd', 'utf8').split('\n')) {
    const [name, , uid, gid, , home = '/'] = line.split(':')
    if (name === USER) return { name, uid: Number(uid), gid: Number(gid), home }
  }
  return undefined
}

/**
 * Changes the owner of directories and their content to `account`, and creates missing ones. Returns a message for each
 * directory whose owner could not be changed, for example a read-only mount. The server reports an error if it needs
 * write access.
 */
const giveDirectories = (directories: readonly string[], account: Account): string[] =>
  directories.flatMap((directory) => {
    try {
      makeDirectory(directory)
      give(directory, account)
      return []
    } catch (error) {
      const reason = messageOf(error)
      return [`the owner of ${directory} could not be changed to ${account.name}: ${reason}`]
    }
  })

/** Changes the owner of links, but does not follow them, because their targets may be anywhere. */
const give = (file: string, account: Account): void => {
  const stats = lstatSync(file)
  if (stats.uid !== account.uid) lchownSync(file, account.uid, account.gid)
  if (!stats.isDirectory()) return
  for (const name of readdirSync(file)) give(path.join(file, name), account)
}

/** Switches to `account` permanently: groups first and the user last, because only root can change the groups. */
const becomeAccount = (account: Account): void => {
  process.setgroups?.([account.gid])
  process.setgid?.(account.gid)
  process.setuid?.(account.uid)
  process.env.HOME = account.home
  process.env.USER = account.name
}
