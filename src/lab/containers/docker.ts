import { execFile, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { directoriesOf, findProgram } from '../../base/programs.js'
import { LabError } from '../model/lab-error.js'

const OUTPUT_BYTES_MAX = 256 << 20
/** Number of output lines in the error of a failed command. */
const LINES_KEPT = 20

/** Runs the Docker client and resolves to its standard output. Rejects with its standard error. */
export const docker = (...args: readonly string[]): Promise<string> => run('docker', args)

/** Runs the Docker client and resolves to its binary output. Rejects if the output is larger than `bytesMax` bytes. */
export const dockerBytes = (bytesMax: number, ...args: readonly string[]): Promise<Buffer> =>
  runForBytes('docker', args, { bytesMax })

/** Runs the Docker client, and calls `onLine` with its output. Rejects with the last lines of its output. */
export const dockerWithOutput = (args: readonly string[], onLine: (line: string) => void): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn('docker', args, { stdio: ['ignore', 'pipe', 'pipe'] })
    const last: string[] = []
    for (const input of [child.stdout, child.stderr])
      createInterface({ input }).on('line', (line) => {
        if (last.push(line) > LINES_KEPT) last.shift()
        onLine(line)
      })
    child.once('error', () => reject(new LabError('remote', notFound('docker'))))
    child.once('close', (status, signal) => {
      if (status === 0) return resolve()
      const how = signal ?? `status ${status}`
      reject(new LabError('remote', [`docker ${args[0]} failed (${how}):`, ...last].join('\n')))
    })
  })

/** Runs the Docker client, and resolves to whether it succeeds. */
const succeeds = (...args: readonly string[]): Promise<boolean> =>
  docker(...args).then(
    () => true,
    () => false,
  )

export const hasImage = (name: string): Promise<boolean> => succeeds('image', 'inspect', name)

type Compose = readonly [program: string, ...args: string[]]

/**
 * Resolves to the command of Docker Compose: the plugin of Docker, or a separate program. Undefined if there is none.
 */
export const findCompose = async (): Promise<Compose | undefined> => {
  if (await succeeds('compose', 'version')) return ['docker', 'compose']
  const hasProgram = findProgram('docker-compose', directoriesOf(process.env.PATH ?? '')) !== undefined
  return hasProgram ? ['docker-compose'] : undefined
}

/** Resolves to a command line of Docker Compose for this machine, for messages. */
export const composeLine = async (words: string): Promise<string> =>
  `${((await findCompose()) ?? ['docker', 'compose']).join(' ')} ${words}`

/** Runs Docker Compose in a directory. Rejects with LabError `remote` if Docker Compose is not installed. */
export const compose = async (directory: string, ...args: readonly string[]): Promise<string> => {
  const found = await findCompose()
  if (!found)
    throw new LabError(
      'remote',
      'Docker Compose was not found: install Docker and its plugin "docker compose", or "docker-compose"',
    )
  const [program, ...first] = found
  return run(program, [...first, ...args], directory)
}

/** Runs a program and resolves to its standard output. Rejects with its standard error. */
export const run = async (command: string, args: readonly string[], cwd?: string): Promise<string> =>
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
      reject(new LabError('remote', isMissing ? notFound(command) : `${command} ${args[0]}: ${reason}`))
    })
  })

const notFound = (command: string): string => `the command "${command}" was not found in PATH`

type ContainerState = 'running' | 'paused' | 'stopped'

/** Resolves to the states of containers by name, without containers that do not exist. */
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
