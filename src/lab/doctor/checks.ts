import { shellWord } from '../../base/shell.js'
import { isTooOld, NODE_NEEDED } from '../../base/node-version.js'
import { whileWaiting } from '../../base/waits.js'
import type { Topology } from '../model/topology.js'
import type { LabListing } from '../lifecycle/listing.js'
import type { Machine } from './machine.js'

/** The result of one check. A lab can run despite a warning. */
export interface Finding {
  readonly name: string
  readonly verdict: 'ok' | 'warning' | 'failed'
  readonly text: string
  /** Advice. Empty if no action is needed. */
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
/** Memory of a server with little data, including the memory for one large request. */
const BYTES_PER_CLUSTER = 128 * 1024 * 1024
const STALE_MS = 7 * 86_400_000
const CERTIFICATE_START_MS = Date.UTC(2024, 0, 1)
/** With a later clock, the lab issues certificates that other software considers invalid. */
const PLAUSIBLE_END_MS = Date.UTC(2100, 0, 1)

type Check = (options: DoctorOptions) => Finding | Promise<Finding>

const ok = (name: string, text: string): Finding => ({ name, verdict: 'ok', text, fix: '' })
const failed = (name: string, text: string, fix: string): Finding => ({ name, verdict: 'failed', text, fix })
const warning = (name: string, text: string, fix: string): Finding => ({ name, verdict: 'warning', text, fix })

const checkNode: Check = ({ machine: { nodeVersion } }) =>
  isTooOld(nodeVersion)
    ? failed('node', `version ${nodeVersion} is too old`, `install Node ${NODE_NEEDED}, 22 or 24`)
    : ok('node', `version ${nodeVersion}`)

const checkStorage: Check = async ({ machine }) => {
  try {
    await machine.probeStorage()
    return ok('storage', 'the LevelDB binding writes and reads')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return failed('storage', `the LevelDB binding does not work: ${reason}`, 'run "npm rebuild classic-level"')
  }
}

/** Describes which labs use the ports. A running lab of this user is expected, and is not a problem. */
const describeHeld = (held: ReadonlyMap<number, string>, ports: readonly number[]): string => {
  const own = ports.filter((port) => held.has(port))
  const names = [...new Set(own.map((port) => held.get(port)))].map((name) => `"${name}"`)
  return `${own.join(', ')} are held by the lab ${names.join(' and ')}, which is up`
}

const checkPorts: Check = async ({ machine, topology, portBase }) => {
  const ports = topology.clusters.flatMap((name) => {
    const api = portBase + PORTS_PER_CLUSTER * (name.charCodeAt(0) - 'A'.charCodeAt(0))
    return [api, api + 1]
  })
  const areFree = await Promise.all(ports.map((port) => machine.isPortFree(port)))
  const held = machine.findLabPorts()
  const free = ports.filter((_, index) => areFree[index])
  const taken = ports.filter((port) => !free.includes(port) && !held.has(port))
  if (taken.length === 0 && free.length < ports.length) return ok('ports', describeHeld(held, ports))
  return taken.length === 0
    ? ok('ports', `${ports.join(', ')} are free for "${topology.name}"`)
    : failed('ports', `${taken.join(', ')} are taken`, 'use --ports random, or --port-base with another base')
}

const checkDirectory =
  (name: string, directoryOf: (options: DoctorOptions) => string, variable: string): Check =>
  (options) => {
    const directory = directoryOf(options)
    const problem = options.machine.findWriteProblem(directory)
    return problem === undefined
      ? ok(name, `${directory} can be written`)
      : failed(name, `${directory} cannot be written: ${problem}`, `set ${variable} to a directory of your own`)
  }

const checkSpace: Check = ({ machine }) => {
  const free = machine.freeBytes(machine.temporaryDirectory)
  const text = `${Math.floor(free / 1024 ** 2)} MiB free in ${machine.temporaryDirectory}`
  const fix = 'delete what is not needed, or set TMPDIR to a larger disk'
  if (free < FREE_BYTES_MIN) return failed('disk', text, fix)
  return free < FREE_BYTES_GOOD ? warning('disk', text, fix) : ok('disk', text)
}

const checkClock: Check = ({ machine: { clock } }) => {
  const now = clock.now()
  const shown = new Date(now).toISOString()
  return now >= CERTIFICATE_START_MS && now < PLAUSIBLE_END_MS
    ? ok('clock', shown)
    : failed(
        'clock',
        `${shown} cannot be right: certificates and tokens would be refused`,
        'set the clock of this machine',
      )
}

const checkDocker: Check = async ({ machine }) => {
  const version = await machine.findDocker()
  if (version !== undefined) return ok('docker', `version ${version}`)
  return machine.hasDocker()
    ? warning(
        'docker',
        'Docker is installed, and its daemon does not answer',
        'only needed for containers: start it for those; "docker version" says why it does not answer',
      )
    : warning('docker', 'no program docker in PATH', 'only needed for containers: install and start Docker for those')
}

const checkEtcd: Check = async ({ machine }) => {
  const version = await machine.findEtcd()
  return version === undefined
    ? warning(
        'etcd',
        'no program etcd in PATH',
        'only needed for clusters of several nodes, unless they are in one process: install it for those (Debian: etcd-server)',
      )
    : ok('etcd', `version ${version}`)
}

const checkOpenFiles: Check = ({ machine }) => {
  const max = machine.findOpenFilesMax()
  if (max === undefined) return ok('ulimit', 'the limit of open files is not told here')
  return max >= OPEN_FILES_GOOD
    ? ok('ulimit', `${max} open files`)
    : warning('ulimit', `only ${max} open files`, `run "ulimit -n ${OPEN_FILES_GOOD}" before`)
}

const checkMemory: Check = ({ machine, topology }) => {
  const free = machine.freeMemoryBytes()
  const needed = topology.clusters.length * BYTES_PER_CLUSTER
  const text = `${Math.floor(free / 1024 ** 2)} MiB free`
  const fix = `"${topology.name}" takes about ${needed / 1024 ** 2} MiB: end other programs, or take a smaller topology`
  return free < needed ? warning('memory', text, fix) : ok('memory', text)
}

/** State of a lab -> the command that fixes it. */
const MENDS: Partial<Record<LabListing['state'], (name: string) => string>> = {
  incomplete: (name) => `"understudy down ${name}"`,
  damaged: (name) => `"understudy down ${name}"`,
  'partly running': (name) => `"understudy start --name ${name}"`,
}

const checkLabs: Check = ({ machine }) => {
  const labs = machine.listLabs()
  const left = labs.flatMap(({ name, state }) => {
    const mend = MENDS[state]?.(name)
    return mend === undefined ? [] : [{ text: `${name} is ${state}`, mend }]
  })
  if (left.length === 0) return ok('labs', labs.length === 0 ? 'none' : labs.map(({ name }) => name).join(', '))
  const mends = left.map(({ mend }) => mend).join(' and ')
  return warning('labs', left.map(({ text }) => text).join(', '), `run ${mends}`)
}

/** Reports unused labs: they still use ports and disk space. */
const checkAge: Check = ({ machine }) => {
  const oldest = machine.clock.now() - STALE_MS
  const stale = machine.listLabs().filter(({ createdAt }) => createdAt !== undefined && Date.parse(createdAt) < oldest)
  if (stale.length === 0) return ok('stale', 'no lab is older than a week')
  const names = stale.map(({ name }) => name)
  const mend = names.map((name) => `"understudy down ${name}"`).join(' and ')
  return warning('stale', `${names.join(', ')}: older than a week`, `${mend}, unless they are still used`)
}

const checkOrphans: Check = ({ machine }) => {
  const orphans = machine.findOrphans()
  if (orphans.length === 0) return ok('orphans', 'no server whose lab is gone')
  const list = orphans.map(({ pid, configFile }) => `process ${pid} of ${configFile}`).join(', ')
  return warning('orphans', `${list}: the directory is gone`, `run "kill ${orphans.map(({ pid }) => pid).join(' ')}"`)
}

/** Reports directories that killed processes left behind. */
const checkLeft: Check = ({ machine }) => {
  const left = machine.findLeftDirectories()
  if (left.length === 0) return ok('leftovers', 'no temporary directory of a process that is gone')
  return warning(
    'leftovers',
    `${left.join(', ')}: the process is gone`,
    `run "rm -r ${left.map((path) => shellWord(path)).join(' ')}"`,
  )
}

const CHECKS: readonly Check[] = [
  checkNode,
  checkStorage,
  checkPorts,
  checkDirectory('temporary', ({ machine }) => machine.temporaryDirectory, 'TMPDIR'),
  checkDirectory('state', ({ machine }) => machine.stateDirectory, 'XDG_STATE_HOME'),
  checkSpace,
  checkClock,
  checkDocker,
  checkEtcd,
  checkOpenFiles,
  checkMemory,
  checkLabs,
  checkAge,
  checkOrphans,
  checkLeft,
]

/** Checks everything that a lab of this topology needs from this machine, in a fixed order. */
export const examine = async (options: DoctorOptions): Promise<Finding[]> => {
  const findings: Finding[] = []
  for (const check of CHECKS) findings.push(await whileWaiting('a check of this machine', async () => check(options)))
  return findings
}
