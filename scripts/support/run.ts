import { spawn, spawnSync } from 'node:child_process'
import path from 'node:path'

/** The directory of the package. */
export const ROOT = path.join(import.meta.dirname, '..', '..')

const FORWARDED: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP']

/**
 * Runs a program, and forwards signals to it. `output` is an open file, or `inherit` for the output of this process. Resolves to the exit status of the
 * program, or to 1 if it cannot start.
 */
export const run = (
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  output: number | 'inherit' = 'inherit',
): Promise<number> =>
  new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: ROOT,
      stdio: ['ignore', output, output],
      env: { ...process.env, ...env },
    })
    const forward = (signal: NodeJS.Signals) => void child.kill(signal)
    for (const signal of FORWARDED) process.on(signal, forward)
    const finish = (status: number) => {
      for (const signal of FORWARDED) process.off(signal, forward)
      resolve(status)
    }
    child.once('error', (error) => {
      console.error(`${command}: ${error.message}`)
      finish(1)
    })
    child.once('exit', (status) => finish(status ?? 1))
  })

/** Returns the output of a program, or undefined if it fails or does not exist. */
export const read = (command: string, args: readonly string[]): string | undefined => {
  const { status, stdout } = spawnSync(command, args, {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  return status === 0 ? stdout.trim() : undefined
}
