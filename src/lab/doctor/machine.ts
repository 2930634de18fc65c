import { execFile } from 'node:child_process'
import { accessSync, constants, existsSync, readdirSync, readFileSync, statfsSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import path from 'node:path'
import { attempt } from '../../base/attempt.js'
import { systemClock } from '../../base/clock.js'
import { messageOf } from '../../base/printable.js'
import { directoriesOf, findProgram } from '../../base/programs.js'
import { findLeftDirectories } from '../../base/temporary-directory.js'
import { findCompose } from '../containers/docker.js'
import { labsDirectory } from '../model/state-directory.js'
import { thisHost } from '../processes/lab-host.js'
import { findLabPorts, listLabStates } from '../lifecycle/listing.js'
import { isFree } from '../model/ports.js'
import { isRunning } from '../processes/child-process.js'

const PROGRAM_MS = 5000

/** Returns the output of a program. Undefined if the program is missing, fails or hangs. */
const outputOf = (program: string, args: readonly string[]): Promise<string | undefined> =>
  new Promise((resolve) => {
    execFile(program, args, { timeout: PROGRAM_MS }, (error, stdout) => {
      resolve(error || stdout.trim() === '' ? undefined : stdout.trim())
    })
  })

/** The facts about this machine that the checks use. Tests replace them. */
export const thisMachine = () => ({
  /** For example, `20.11.1`. */
  nodeVersion: process.versions.node as string,
  /** The parent of the data directories of labs. */
  temporaryDirectory: tmpdir(),
  /** The parent of the records of labs. */
  stateDirectory: labsDirectory(),
  clock: systemClock,
  /** Rejects with the reason if the storage engine does not work on this machine. */
  async probeStorage() {
    const { probeStorage } = await import('../../server/data/storage-probe.js')
    await probeStorage(tmpdir())
  },
  isPortFree: isFree,
  /** Returns the ports of running servers, with the name of their lab. */
  findLabPorts: () => findLabPorts(thisHost()),
  /** Returns undefined if the directory is writable or can be created, else the reason. */
  findWriteProblem(directory: string): string | undefined {
    try {
      accessSync(nearestExisting(directory), constants.W_OK | constants.X_OK)
      return undefined
    } catch (error) {
      return messageOf(error)
    }
  },
  freeBytes(directory: string) {
    const { bavail, bsize } = statfsSync(nearestExisting(directory))
    return bavail * bsize
  },
  /** Returns the version of the Docker server. Undefined if it does not respond. */
  findDocker: () => outputOf('docker', ['version', '--format', '{{.Server.Version}}']),
  /** Whether the Docker client is installed, even if the server does not respond. */
  hasDocker: () => findProgram('docker', directoriesOf(process.env.PATH ?? '')) !== undefined,
  /** Returns the version of Docker Compose. Undefined if it is missing or fails. */
  async findCompose() {
    const found = await findCompose()
    if (!found) return undefined
    const [program, ...first] = found
    return outputOf(program, [...first, 'version', '--short'])
  },
  /** Returns the version of the `etcd` program in PATH. Undefined if it is missing or fails. */
  async findEtcd() {
    const text = await outputOf('etcd', ['--version'])
    return text === undefined ? undefined : (/^etcd Version: (\S+)/m.exec(text)?.[1] ?? text)
  },
  /** Returns the labs with records, files or processes on this machine. */
  listLabs: () => listLabStates(thisHost()),
  findOrphans,
  /** Returns temporary directories of Understudy processes that no longer exist. */
  findLeftDirectories: () => findLeftDirectories(isRunning),
  /** Returns the bytes of memory available to programs. */
  freeMemoryBytes: () => {
    const [, kib] = /^MemAvailable:\s+(\d+) kB/m.exec(readIfThere('/proc/meminfo')) ?? []
    return kib === undefined ? freemem() : Number(kib) * 1024
  },
  /** Returns the maximum number of open files per process. Undefined if the system does not report it. */
  findOpenFilesMax() {
    const [, soft] = /^Max open files\s+(\d+|unlimited)/m.exec(readIfThere('/proc/self/limits')) ?? []
    return soft === undefined ? undefined : soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft)
  },
})

export type Machine = ReturnType<typeof thisMachine>

/** Returns the directory, or its nearest existing ancestor if the directory does not exist. */
const nearestExisting = (directory: string): string =>
  existsSync(directory) ? directory : nearestExisting(path.dirname(directory))

/** The argument that a server or a lab daemon gets from its lab, with the configuration file. */
const CONFIG_ARGUMENT = /^-config=(.*\/labs\/[^/]+\/(?:[A-Z]\d*\/server|keeper)-[0-9a-f]+\.json)$/

/** Returns servers and lab daemons whose lab directory no longer exists: no command lists them. Requires `/proc`. */
const findOrphans = () => {
  const pids = existsSync('/proc/self') ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : []
  return pids.flatMap((pid) => {
    const [configFile] = readIfThere(`/proc/${pid}/cmdline`)
      .split('\0')
      .flatMap((argument) => CONFIG_ARGUMENT.exec(argument)?.[1] ?? [])
    return configFile === undefined || existsSync(configFile) ? [] : [{ pid: Number(pid), configFile }]
  })
}

const readIfThere = (file: string): string => attempt(() => readFileSync(file, 'utf8')) ?? ''
