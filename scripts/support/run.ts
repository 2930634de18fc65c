import { spawn, spawnSync } from 'node:child_process'
import path from 'node:path'
import { forwardSignals } from '../../src/lab/runner/foreground.js'

/** The directory of the package. */
export const ROOT = path.join(import.meta.dirname, '..', '..')

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
    forwardSignals(child)
    child.once('error', (error) => {
      console.error(`${command}: ${error.message}`)
      resolve(1)
    })
    child.once('exit', (status) => resolve(status ?? 1))
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
