import { execFile } from 'node:child_process'
import { LabError } from '../model/lab-error.js'

const OUTPUT_BYTES_MAX = 256 << 20

/** Runs the Docker client and resolves to what it prints; what it complains about is the error. */
export const docker = (...args: readonly string[]): Promise<string> => run('docker', args)

/** The same of what prints no text, of which no more is taken. */
export const dockerBytes = (bytesMax: number, ...args: readonly string[]): Promise<Buffer> =>
  runForBytes('docker', args, { bytesMax })

/** Runs compose in a directory: the plugin of the client, or where that is not there the program of its own. */
export const compose = async (directory: string, ...args: readonly string[]): Promise<string> => {
  const hasPlugin = await docker('compose', 'version').then(
    () => true,
    () => false,
  )
  return hasPlugin ? run('docker', ['compose', ...args], directory) : run('docker-compose', args, directory)
}

const run = async (command: string, args: readonly string[], cwd?: string): Promise<string> =>
  String(await runForBytes(command, args, { cwd, bytesMax: OUTPUT_BYTES_MAX }))

const runForBytes = (
  command: string,
  args: readonly string[],
  { cwd, bytesMax }: { readonly cwd?: string | undefined; readonly bytesMax: number },
): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    execFile(command, args, { cwd, maxBuffer: bytesMax, encoding: 'buffer' }, (error, stdout, stderr) => {
      if (!error) return resolve(stdout)
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
      const reason = String(stderr).trim() || error.message
      reject(
        new LabError(
          'remote',
          isMissing ? `the command "${command}" is not there` : `${command} ${args[0]}: ${reason}`,
        ),
      )
    })
  })

type ContainerState = 'running' | 'paused' | 'stopped'

/** States of containers, by name; those that are gone are left out. */
export const statesOf = async (containers: readonly string[]): Promise<ReadonlyMap<string, ContainerState>> => {
  const inspect = async (name: string) => {
    const status = await docker('inspect', '--type', 'container', '--format', '{{.State.Status}}', name).catch(() => '')
    return [name, status.trim()] as const
  }
  const states = await Promise.all(containers.map(inspect))
  return new Map(
    states.flatMap(([name, status]) => (status === '' ? [] : [[name, STATES[status] ?? 'stopped'] as const])),
  )
}

const STATES: Readonly<Record<string, ContainerState>> = { running: 'running', paused: 'paused' }
