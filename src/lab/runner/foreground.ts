import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:os'

const FORWARDED: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2']
const NOT_EXECUTABLE = 126
const NOT_FOUND = 127
const BY_SIGNAL = 128

/** Forwards the signals of this process to a child until the child exits, or cannot start. */
export const forwardSignals = (child: ChildProcess): void => {
  const forward = (signal: NodeJS.Signals) => void child.kill(signal)
  const stop = () => {
    for (const signal of FORWARDED) process.off(signal, forward)
  }
  for (const signal of FORWARDED) process.on(signal, forward)
  child.once('error', stop)
  child.once('exit', stop)
}

/**
 * Runs a program in the foreground with the same standard streams, and forwards signals. Resolves to its exit status as
 * in a shell: 128 + n after signal n, 127 if the program does not exist, 126 if it cannot run.
 */
export const runInForeground = (
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<number> =>
  new Promise((resolve) => {
    const child = spawn(command, args, { stdio: 'inherit', env })
    forwardSignals(child)
    child.once('error', (error: NodeJS.ErrnoException) => {
      process.stderr.write(`${command}: ${error.code === 'ENOENT' ? 'command not found' : error.message}\n`)
      resolve(error.code === 'ENOENT' ? NOT_FOUND : NOT_EXECUTABLE)
    })
    child.once('exit', (status, signal) => resolve(status ?? BY_SIGNAL + (signal ? constants.signals[signal] : 0)))
  })
