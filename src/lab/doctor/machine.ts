import { execFile } from 'node:child_process'
import { accessSync, constants, existsSync, readdirSync, readFileSync, statfsSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import path from 'node:path'
import { type Clock, systemClock } from '../../base/clock.js'
import { directoriesOf, findProgram } from '../../base/programs.js'
import { findLeftDirectories } from '../../base/temporary-directory.js'
import { labsDirectory } from '../model/state-directory.js'
import { thisHost } from '../processes/lab-host.js'
import { findLabPorts, type LabListing, listLabStates } from '../lifecycle/listing.js'
import { isFree } from '../model/ports.js'
import { isRunning } from '../processes/child-process.js'

/** This machine as the checks see it, an interface so that a test can describe another one. */
export interface Machine {
  /** `20.11.1`. */
  readonly nodeVersion: string
  /** Where data of labs goes, and where labs are remembered. */
  readonly temporaryDirectory: string
  readonly stateDirectory: string
  readonly clock: Clock
  /** Rejects with the reason when the storage does not work here. */
  probeStorage(): Promise<void>
  isPortFree(port: number): Promise<boolean>
  /** Ports of servers that run, by the name of their lab. */
  findLabPorts(): ReadonlyMap<number, string>
  /** Undefined when files can be made there, or the directory itself can be; else the reason. */
  findWriteProblem(directory: string): string | undefined
  freeBytes(directory: string): number
  /** The version of the Docker server; undefined when it does not answer. */
  findDocker(): Promise<string | undefined>
  /** Whether the program is there, also when the server does not answer. */
  hasDocker(): boolean
  /** The version of the program etcd in PATH; undefined when there is none, or it does not run. */
  findEtcd(): Promise<string | undefined>
  /** Labs that have left anything on this machine. */
  listLabs(): LabListing[]
  /** Servers and keepers of labs whose directory is gone: nothing else finds them. */
  findOrphans(): Orphan[]
  /** Temporary directories of processes of ours that are gone. */
  findLeftDirectories(): string[]
  /** Memory that programs may still have. */
  freeMemoryBytes(): number
  /** Open files that one process may have; undefined where the system does not tell. */
  findOpenFilesMax(): number | undefined
}

interface Orphan {
  readonly pid: number
  readonly configFile: string
}

const PROGRAM_MS = 5000

/** What a program prints; undefined when it is not there, fails or hangs. */
const outputOf = (program: string, args: readonly string[]): Promise<string | undefined> =>
  new Promise((resolve) => {
    execFile(program, args, { timeout: PROGRAM_MS }, (error, stdout) => {
      resolve(error || stdout.trim() === '' ? undefined : stdout.trim())
    })
  })

export const thisMachine = (): Machine => ({
  nodeVersion: process.versions.node,
  temporaryDirectory: tmpdir(),
  stateDirectory: labsDirectory(),
  clock: systemClock,
  async probeStorage() {
    const { probeStorage } = await import('../../server/data/storage-probe.js')
    await probeStorage(tmpdir())
  },
  isPortFree: isFree,
  findLabPorts: () => findLabPorts(thisHost()),
  findWriteProblem(directory) {
    try {
      accessSync(nearestExisting(directory), constants.W_OK | constants.X_OK)
      return undefined
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  },
  freeBytes(directory) {
    const { bavail, bsize } = statfsSync(nearestExisting(directory))
    return bavail * bsize
  },
  findDocker: () => outputOf('docker', ['version', '--format', '{{.Server.Version}}']),
  hasDocker: () => findProgram('docker', directoriesOf(process.env.PATH ?? '')) !== undefined,
  async findEtcd() {
    const text = await outputOf('etcd', ['--version'])
    return text === undefined ? undefined : (/^etcd Version: (\S+)/m.exec(text)?.[1] ?? text)
  },
  listLabs: () => listLabStates(thisHost()),
  findOrphans,
  findLeftDirectories: () => findLeftDirectories(isRunning),
  freeMemoryBytes: () => {
    const [, kib] = /^MemAvailable:\s+(\d+) kB/m.exec(readIfThere('/proc/meminfo')) ?? []
    return kib === undefined ? freemem() : Number(kib) * 1024
  },
  findOpenFilesMax() {
    const [, soft] = /^Max open files\s+(\d+|unlimited)/m.exec(readIfThere('/proc/self/limits')) ?? []
    return soft === undefined ? undefined : soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft)
  },
})

/** A directory that is not there yet is made in the nearest one that is. */
const nearestExisting = (directory: string): string =>
  existsSync(directory) ? directory : nearestExisting(path.dirname(directory))

const OF_A_LAB = /^-config=(.*\/labs\/[^/]+\/(?:[A-Z]\/server|keeper)-[0-9a-f]+\.json)$/

/** Only where the system has `/proc`; elsewhere none are found. */
const findOrphans = (): Orphan[] => {
  const pids = existsSync('/proc/self') ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : []
  return pids.flatMap((pid) => {
    const [configFile] = readIfThere(`/proc/${pid}/cmdline`)
      .split('\0')
      .flatMap((argument) => OF_A_LAB.exec(argument)?.[1] ?? [])
    return configFile === undefined || existsSync(configFile) ? [] : [{ pid: Number(pid), configFile }]
  })
}

const readIfThere = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
