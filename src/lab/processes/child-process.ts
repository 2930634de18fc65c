import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { attempt } from '../../base/attempt.js'
import { LabError } from '../model/lab-error.js'
import { configArgument } from './lab-host.js'

interface ServerFiles {
  readonly configFile: string
  readonly logFile: string
}

/** The exit status of a process, or the signal that ended it. */
export type Ending = number | NodeJS.Signals

const LOG_LINES_SHOWN = 15

/** The file that `npx understudy` runs, below `dist`. */
const PROGRAM = path.join('bundle', 'main.cjs')

/**
 * glibc settings, as in the image: freed memory of large bodies returns to the system at once. By default, the
 * allocator retains chunks of up to 32 MiB for reuse.
 */
const ALLOCATOR = {
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
  MALLOC_TOP_PAD_: '0',
}

export interface Launched {
  readonly pid: number
  /** Resolves when the process ends. Only while this process runs. */
  readonly ended: Promise<Ending>
}

/** Starts the process of a server. Its configuration must exist. */
export const launchServer = (name: string, files: ServerFiles, isTied?: boolean): Launched =>
  launchProgram(['server'], `the server of cluster ${name}`, files, { isTied })

interface LaunchOptions {
  readonly nodeOptions?: readonly string[]
  /** The compiled file below `dist`. */
  readonly program?: string
  /** The program ends when this process ends in any way: see `endWithParent`. */
  readonly isTied?: boolean | undefined
}

/** Starts this program as a separate process that outlives this process and writes to a log file. */
export const launchProgram = (
  args: readonly string[],
  what: string,
  { configFile, logFile }: ServerFiles,
  { nodeOptions = [], program = PROGRAM, isTied = false }: LaunchOptions = {},
): Launched => {
  const log = openSync(logFile, 'a', 0o600)
  try {
    const child = spawn(process.execPath, [...nodeOptions, programFile(program), ...args, configArgument(configFile)], {
      detached: true,
      stdio: isTied ? ['ignore', log, log, 'ipc'] : ['ignore', log, log],
      env: { ...withoutServerVariables(process.env), ...ALLOCATOR },
    })
    const ended = new Promise<Ending>((resolve) => {
      child.once('exit', (status, signal) => resolve(status ?? signal ?? 'SIGKILL'))
    })
    child.on('error', () => undefined)
    child.unref()
    child.channel?.unref()
    if (child.pid === undefined) throw new LabError('remote', `${what} could not be started`)
    return { pid: child.pid, ended }
  } finally {
    closeSync(log)
  }
}

/** Removes server settings from the environment: only their configuration file configures the servers of a lab. */
const withoutServerVariables = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !/^(VAULT_|UNDERSTUDY_)/.test(name)))

export const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Sends a signal. Returns false if the process does not exist. */
export const signal = (pid: number, name: NodeJS.Signals): boolean => attempt(() => process.kill(pid, name)) ?? false

/** Returns the end of a server's log, for error messages. */
export const lastLogLines = (logFile: string): string => {
  if (!existsSync(logFile)) return ''
  return readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-LOG_LINES_SHOWN).join('\n')
}

/**
 * Returns the compiled program of this package, even when this code runs from source. Throws LabError `usage` if the
 * package is not built.
 */
export const programFile = (program = PROGRAM): string => {
  let directory = path.dirname(fileURLToPath(import.meta.url))
  while (!existsSync(path.join(directory, 'package.json'))) {
    const above = path.dirname(directory)
    if (above === directory) throw new LabError('usage', 'cannot find the package of this program')
    directory = above
  }
  const entry = path.join(directory, 'dist', program)
  if (!existsSync(entry)) throw new LabError('usage', `${entry} is missing: run "npm run build" first`)
  return entry
}
