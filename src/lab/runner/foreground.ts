import { spawn } from 'node:child_process'
import { constants } from 'node:os'

const FORWARDED: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2']
const NOT_EXECUTABLE = 126
const NOT_FOUND = 127
const BY_SIGNAL = 128

/**
 * Runs a program in the foreground with the same standard streams, and forwards signals. Resolves to its exit status as in a
 * shell: 128 + n after signal n, 127 if the program does not exist, 126 if it cannot run.
 */
export const runInForeground = (
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<number> =>
  new Promise((resolve) => {
    const child = spawn(command, args, { stdio: 'inherit', env })
    const forward = (signal: NodeJS.Signals) => void child.kill(signal)
    for (const signal of FORWARDED) process.on(signal, forward)
    const finish = (status: number) => {
      for (const signal of FORWARDED) process.off(signal, forward)
      resolve(status)
    }
    child.once('error', (error: NodeJS.ErrnoException) => {
      process.stderr.write(`${command}: ${error.code === 'ENOENT' ? 'command not found' : error.message}\n`)
      finish(error.code === 'ENOENT' ? NOT_FOUND : NOT_EXECUTABLE)
    })
    child.once('exit', (status, signal) => finish(status ?? BY_SIGNAL + (signal ? constants.signals[signal] : 0)))
  })
