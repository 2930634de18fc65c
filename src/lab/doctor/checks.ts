import { messageOf } from '../../base/printable.js'
import { shellWord } from '../../base/shell.js'
import { isTooOld, NODE_NEEDED } from '../../base/node-version.js'
import { whileWaiting } from '../../base/progress.js'
import type { Topology } from '../model/topology.js'
import type { LabListing } from '../lifecycle/listing.js'
import type { Machine } from './machine.js'

/** The result of one check. A lab can run despite a warning. */
export interface Finding {
  readonly name: string
  readonly verdict: 'ok' | 'warning' | 'failed'
  readonly text: string
  /** The action that fixes the finding. Empty if no action is needed. */
  readonly fix: string
}

interface DoctorOptions {
  readonly machine: Machine
  readonly topology: Topology
  readonly portBase: number
}

const PORTS_PER_CLUSTER = 10
const FREE_BYTES_MIN = 256 * 1024 * 1024
const FREE_BYTES_GOOD = 2 * 1024 * 1024 * 1024
const OPEN_FILES_GOOD = 1024
/** Memory of the server of one cluster with little data, including one large request. */
const BYTES_PER_CLUSTER = 128 * 1024 * 1024
const STALE_MS = 7 * 86_400_000
const CERTIFICATE_START_MS = Date.UTC(2024, 0, 1)
/** Latest plausible time. With a later clock, the lab issues certificates that other software considers invalid. */
const PLAUSIBLE_END_MS = Date.UTC(2100, 0, 1)

type Result = Omit<Finding, 'name'>
type Check = (options: DoctorOptions) => Result | Promise<Result>

const ok = (text: string): Result => ({ verdict: 'ok', text, fix: '' })
const failed = (text: string, fix: string): Result => ({ verdict: 'failed', text, fix })
const warning = (text: string, fix: string): Result => ({ verdict: 'warning', text, fix })

/** Describes the ports that running labs of this user hold. They are not a problem: the user knows the lab. */
const describeLabPorts = (held: ReadonlyMap<number, string>, ports: readonly number[]): string => {
  const own = ports.filter((port) => held.has(port))
  const names = [...new Set(own.map((port) => held.get(port)))].map((name) => `"${name}"`)
  return `${own.join(', ')} are used by the running lab ${names.join(' and ')}`
}

const checkDirectory =
  (directoryOf: (options: DoctorOptions) => string, variable: string): Check =>
  (options) => {
    const directory = directoryOf(options)
    const problem = options.machine.findWriteProblem(directory)
    return problem === undefined
      ? ok(`${directory} is writable`)
      : failed(`${directory} is not writable: ${problem}`, `set ${variable} to a writable directory`)
  }

/** The commands that fix a lab, by its state. */
const FIXES: Partial<Record<LabListing['state'], (name: string) => string>> = {
  incomplete: (name) => `"understudy down ${name}"`,
  damaged: (name) => `"understudy down ${name}"`,
  'partly running': (name) => `"understudy start --name ${name}"`,
}

const CHECKS: Readonly<Record<string, Check>> = {
  node: ({ machine: { nodeVersion } }) =>
    isTooOld(nodeVersion)
      ? failed(`version ${nodeVersion} is too old`, `install Node ${NODE_NEEDED}, 22 or 24`)
      : ok(`version ${nodeVersion}`),
  storage: async ({ machine }) => {
    try {
      await machine.probeStorage()
      return ok('the LevelDB binding writes and reads')
    } catch (error) {
      return failed(`the LevelDB binding does not work: ${messageOf(error)}`, 'run "npm rebuild classic-level"')
    }
  },
  ports: async ({ machine, topology, portBase }) => {
    const ports = topology.clusters.flatMap((name) => {
      const api = portBase + PORTS_PER_CLUSTER * (name.charCodeAt(0) - 'A'.charCodeAt(0))
      return [api, api + 1]
    })
    const areFree = await Promise.all(ports.map((port) => machine.isPortFree(port)))
    const held = machine.findLabPorts()
    const free = ports.filter((_, index) => areFree[index])
    const taken = ports.filter((port) => !free.includes(port) && !held.has(port))
    if (taken.length === 0 && free.length < ports.length) return ok(describeLabPorts(held, ports))
    return taken.length === 0
      ? ok(`${ports.join(', ')} are free for "${topology.name}"`)
      : failed(`${taken.join(', ')} are in use`, 'use --ports random, or another --port-base')
  },
  temporary: checkDirectory(({ machine }) => machine.temporaryDirectory, 'TMPDIR'),
  state: checkDirectory(({ machine }) => machine.stateDirectory, 'XDG_STATE_HOME'),
  disk: ({ machine }) => {
    const free = machine.freeBytes(machine.temporaryDirectory)
    const text = `${Math.floor(free / 1024 ** 2)} MiB free in ${machine.temporaryDirectory}`
    const fix = 'free disk space, or set TMPDIR to a directory on a larger disk'
    if (free < FREE_BYTES_MIN) return failed(text, fix)
    return free < FREE_BYTES_GOOD ? warning(text, fix) : ok(text)
  },
  clock: ({ machine: { clock } }) => {
    const now = clock.now()
    const shown = new Date(now).toISOString()
    return now >= CERTIFICATE_START_MS && now < PLAUSIBLE_END_MS
      ? ok(shown)
      : failed(`${shown} is not plausible: certificates and tokens would be rejected`, 'set the clock of this machine')
  },
  docker: async ({ machine }) => {
    const version = await machine.findDocker()
    if (version !== undefined) return ok(`version ${version}`)
    return machine.hasDocker()
      ? warning(
          'Docker is installed, but its daemon does not respond',
          'required only for containers: start the daemon; "docker version" shows why it does not respond',
        )
      : warning('docker is not in PATH', 'required only for containers: install and start Docker')
  },
  compose: async ({ machine }) => {
    const version = await machine.findCompose()
    return version === undefined
      ? warning(
          'Docker Compose was not found',
          'required only for Compose files and "drill run --on docker": install the plugin "docker compose", or "docker-compose"',
        )
      : ok(`version ${version}`)
  },
  etcd: async ({ machine }) => {
    const version = await machine.findEtcd()
    return version === undefined
      ? warning(
          'etcd is not in PATH',
          'required only for clusters with several nodes in separate processes: install etcd (Debian package: etcd-server)',
        )
      : ok(`version ${version}`)
  },
  ulimit: ({ machine }) => {
    const max = machine.findOpenFilesMax()
    if (max === undefined) return ok('this system does not report the limit of open files')
    return max >= OPEN_FILES_GOOD
      ? ok(`${max} open files`)
      : warning(`only ${max} open files`, `run "ulimit -n ${OPEN_FILES_GOOD}" before you start a lab`)
  },
  memory: ({ machine, topology }) => {
    const free = machine.freeMemoryBytes()
    const needed = topology.clusters.length * BYTES_PER_CLUSTER
    const text = `${Math.floor(free / 1024 ** 2)} MiB free`
    const fix = `"${topology.name}" requires about ${needed / 1024 ** 2} MiB: stop other programs, or use a smaller topology`
    return free < needed ? warning(text, fix) : ok(text)
  },
  labs: ({ machine }) => {
    const labs = machine.listLabs()
    const left = labs.flatMap(({ name, state }) => {
      const fix = FIXES[state]?.(name)
      return fix === undefined ? [] : [{ text: `${name} is ${state}`, fix }]
    })
    if (left.length === 0) return ok(labs.length === 0 ? 'none' : labs.map(({ name }) => name).join(', '))
    return warning(left.map(({ text }) => text).join(', '), `run ${left.map(({ fix }) => fix).join(' and ')}`)
  },
  /** Reports unused labs: they still use ports and disk space. */
  stale: ({ machine }) => {
    const oldest = machine.clock.now() - STALE_MS
    const stale = machine
      .listLabs()
      .filter(({ createdAt }) => createdAt !== undefined && Date.parse(createdAt) < oldest)
    if (stale.length === 0) return ok('no lab is older than a week')
    const names = stale.map(({ name }) => name)
    const fix = names.map((name) => `"understudy down ${name}"`).join(' and ')
    return warning(`${names.join(', ')}: older than a week`, `run ${fix}, unless you still use them`)
  },
  orphans: ({ machine }) => {
    const orphans = machine.findOrphans()
    if (orphans.length === 0) return ok('no orphaned server')
    const list = orphans.map(({ pid, configFile }) => `process ${pid} of ${configFile}`).join(', ')
    return warning(`${list}: the lab directory does not exist`, `run "kill ${orphans.map(({ pid }) => pid).join(' ')}"`)
  },
  /** Reports directories that killed processes left behind. */
  leftovers: ({ machine }) => {
    const left = machine.findLeftDirectories()
    if (left.length === 0) return ok('no temporary directories of ended processes')
    const words = left.map((path) => shellWord(path)).join(' ')
    return warning(`${left.join(', ')}: left by an ended process`, `run "rm -r ${words}"`)
  },
}

/** Runs all checks for a lab of this topology in order. */
export const examine = async (options: DoctorOptions): Promise<Finding[]> => {
  const findings: Finding[] = []
  for (const [name, check] of Object.entries(CHECKS))
    findings.push({ name, ...(await whileWaiting('a check of this machine', async () => check(options))) })
  return findings
}
