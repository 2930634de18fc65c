import path from 'node:path'
import { runInForeground } from '../lab/runner/foreground.js'
import { loadServerConfig } from '../server/config/server-config.js'
import { readLaunchFacts } from './container/facts.js'
import { decideLaunch, OWN_DIRECTORIES } from './container/launch.js'
import { outliveReaders } from './terminal/output.js'
import { run } from './program.js'
import type { StopSignals } from './terminal/stop-signals.js'
import { endOnMistakes } from './terminal/unexpected.js'
import { lchownSync, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { makeDirectory } from '../base/make-directory.js'

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

const USER = 'vault'

interface Account {
  readonly name: string
  readonly uid: number
  readonly gid: number
  readonly home: string
}

/** The account that servers run as; undefined where the system has none. */
const findAccount = (passwd: string = readFileSync('/etc/passwd', 'utf8')): Account | undefined => {
  for (const line of passwd.split('\n')) {
    const [name, , uid, gid, , home = '/'] = line.split(':')
    if (name === USER) return { name, uid: Number(uid), gid: Number(gid), home }
  }
  return undefined
}

/**
 * Gives directories and what is in them to `account`; a missing one is made. Returns a sentence for each directory that
 * could not be given, such as one that is mounted read-only: whether that matters shows when the server needs it.
 */
const giveDirectories = (directories: readonly string[], account: Account): string[] =>
  directories.flatMap((directory) => {
    try {
      makeDirectory(directory)
      give(directory, account)
      return []
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      return [`${directory} could not be given to user ${account.name}: ${reason}`]
    }
  })

/** Links are given, never followed: what they point to may lie anywhere. */
const give = (file: string, account: Account): void => {
  const stats = lstatSync(file)
  if (stats.uid !== account.uid) lchownSync(file, account.uid, account.gid)
  if (!stats.isDirectory()) return
  for (const name of readdirSync(file)) give(path.join(file, name), account)
}

/** Becomes `account` for good: groups first, the user last, since only root may change the groups. */
const becomeAccount = (account: Account): void => {
  process.setgroups?.([account.gid])
  process.setgid?.(account.gid)
  process.setuid?.(account.uid)
  process.env.HOME = account.home
  process.env.USER = account.name
}
