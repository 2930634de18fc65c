import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../support/manual-clock.js'
import { examine } from '../../../src/lab/doctor/checks.js'
import { type Machine, thisMachine } from '../../../src/lab/doctor/machine.js'
import type { LabListing } from '../../../src/lab/lifecycle/listing.js'
import { findTopology } from '../../../src/lab/topology/catalogue.js'

const topology = findTopology('dr')
if (!topology) throw new Error('no topology')

const NOW = Date.UTC(2026, 0, 1)

const machine = (changes: Partial<Machine> = {}): Machine => ({
  nodeVersion: '22.1.0',
  temporaryDirectory: '/tmp',
  stateDirectory: '/home/me/.local/state',
  clock: new ManualClock(NOW),
  probeStorage: async () => undefined,
  isPortFree: async () => true,
  findLabPorts: () => new Map(),
  findWriteProblem: () => undefined,
  freeBytes: () => 8 * 1024 ** 3,
  findDocker: async () => '27.0',
  findCompose: async () => '2.29.1',
  hasDocker: () => true,
  findEtcd: async () => '3.5.16',
  findOpenFilesMax: () => 65_536,
  listLabs: () => [],
  findOrphans: () => [],
  findLeftDirectories: () => [],
  freeMemoryBytes: () => 4 * 1024 ** 3,
  ...changes,
})

const LEFT: LabListing = {
  name: 'x',
  topology: 'dr',
  state: 'incomplete',
  owner: undefined,
  createdAt: undefined,
  clusters: 2,
  servers: 2,
  running: 1,
  note: '',
}

const OLD: LabListing = { ...LEFT, state: 'running', createdAt: '2025-12-01T00:00:00Z' }
const PARTLY: LabListing = { ...LEFT, state: 'partly running' }
const ORPHAN = { pid: 17, configFile: '/gone/labs/x/A/server-0a.json' }

const examineOne = (changes: Partial<Machine>) => examine({ machine: machine(changes), topology, portBase: 8200 })

describe('the doctor', () => {
  it('doctor finds no problem on a good machine', async () => {
    const findings = await examineOne({})
    expect(findings.map(({ verdict }) => verdict)).toEqual(findings.map(() => 'ok'))
    expect(findings.map(({ name }) => name)).toEqual([
      'node',
      'storage',
      'ports',
      'temporary',
      'state',
      'disk',
      'clock',
      'docker',
      'compose',
      'etcd',
      'ulimit',
      'memory',
      'labs',
      'stale',
      'orphans',
      'leftovers',
    ])
    expect(findings.find(({ name }) => name === 'ports')?.text).toContain('8200, 8201, 8210, 8211')
  })

  it('doctor names the lab that uses the ports, and reports no problem', async () => {
    const own = {
      isPortFree: async (port: number) => port < 8210,
      findLabPorts: () =>
        new Map([
          [8210, 'x'],
          [8211, 'x'],
        ]),
    }
    expect((await examineOne(own)).find(({ name }) => name === 'ports')).toEqual({
      name: 'ports',
      verdict: 'ok',
      text: '8210, 8211 are used by the running lab "x"',
      fix: '',
    })
    const foreign = await examineOne({ ...own, isPortFree: async () => false })
    expect(foreign.find(({ name }) => name === 'ports')).toMatchObject({
      verdict: 'failed',
      text: '8200, 8201 are in use',
    })
  })

  it.each<[string, Partial<Machine>, string, string]>([
    ['an old Node', { nodeVersion: '18.19.0' }, 'node', 'failed'],
    ['a missing binding', { probeStorage: () => Promise.reject(new Error('no build')) }, 'storage', 'failed'],
    ['a taken port', { isPortFree: async (port) => port !== 8211 }, 'ports', 'failed'],
    ['no place for data', { findWriteProblem: (at) => (at === '/tmp' ? 'EACCES' : undefined) }, 'temporary', 'failed'],
    ['no place for state', { findWriteProblem: (at) => (at === '/tmp' ? undefined : 'EROFS') }, 'state', 'failed'],
    ['a full disk', { freeBytes: () => 1024 }, 'disk', 'failed'],
    ['a disk that is nearly full', { freeBytes: () => 1024 ** 3 }, 'disk', 'warning'],
    ['a clock of 1970', { clock: new ManualClock(5) }, 'clock', 'failed'],
    ['no Docker', { findDocker: async () => undefined, hasDocker: () => false }, 'docker', 'warning'],
    ['no Compose', { findCompose: async () => undefined }, 'compose', 'warning'],
    ['a Docker that does not run', { findDocker: async () => undefined }, 'docker', 'warning'],
    ['no etcd', { findEtcd: async () => undefined }, 'etcd', 'warning'],
    ['what an interrupted start left', { listLabs: () => [LEFT] }, 'labs', 'warning'],
    ['a lab of last month', { listLabs: () => [OLD] }, 'stale', 'warning'],
    ['a lab that runs in part', { listLabs: () => [PARTLY] }, 'labs', 'warning'],
    ['a server without a lab', { findOrphans: () => [ORPHAN] }, 'orphans', 'warning'],
    ['a directory of a killed process', { findLeftDirectories: () => ['/tmp/x'] }, 'leftovers', 'warning'],
    ['little memory', { freeMemoryBytes: () => 64 * 1024 ** 2 }, 'memory', 'warning'],
    ['few open files', { findOpenFilesMax: () => 256 }, 'ulimit', 'warning'],
  ])('doctor finds %s, and names the remedy', async (_, changes, name, verdict) => {
    const wrong = (await examineOne(changes)).filter((finding) => finding.verdict !== 'ok')
    expect(wrong).toEqual([expect.objectContaining({ name, verdict, fix: expect.stringMatching(/\w+/) })])
  })

  it('doctor distinguishes a stopped Docker from none, and names the users of etcd', async () => {
    const missing = { findDocker: async () => undefined, findEtcd: async () => undefined }
    const fixOf = async (name: string, changes: Partial<Machine>) =>
      (await examineOne({ ...missing, ...changes })).find((one) => one.name === name)?.fix
    expect(await fixOf('docker', {})).toContain('start the daemon')
    expect(await fixOf('docker', { hasDocker: () => false })).toContain('install and start')
    expect(await fixOf('etcd', {})).toContain('clusters with several nodes in separate processes')
  })

  it('doctor can examine its own machine', async () => {
    const here = thisMachine()
    await here.probeStorage()
    expect(here.findWriteProblem(here.temporaryDirectory)).toBeUndefined()
    expect(here.freeBytes(`${here.temporaryDirectory}/not/there`)).toBeGreaterThan(0)
  })

  it.each(['A/server-0a.json', 'A2/server-0a.json', 'keeper-0a.json'])(
    'doctor finds a process of a removed lab by %s',
    async (name) => {
      const file = `-config=/gone/labs/x/${name}`
      const child = spawn(process.execPath, ['-e', 'process.stdin.resume()', '--', file])
      try {
        await once(child, 'spawn')
        await expect
          .poll(() => thisMachine().findOrphans())
          .toContainEqual({ pid: child.pid, configFile: file.slice(8) })
      } finally {
        child.kill('SIGKILL')
      }
    },
  )
})
