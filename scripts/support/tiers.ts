import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { findCompose, findEngine } from './docker.js'
import { ROOT, run } from './run.js'

/** The levels of tests and their commands. No test is in both `test` and `full`; `nightly` runs every test. */
export const LEVELS = { test: 'npm test', full: 'npm run test:full', nightly: 'npm run test:nightly' } as const
export type Level = keyof typeof LEVELS

/** A tier of tests: a folder below `test` that is one vitest project. */
export interface Tier {
  readonly name: string
  /** Folder below `test`; the name by default. Empty: the files beside the folders. */
  readonly folder?: string
  /** Maximum time of one test in milliseconds. */
  readonly timeoutMs: number
  /** Level of all files, or the names of the files of each level. Files without a level run only at `nightly`. */
  readonly level: Level | Partial<Record<Level, readonly string[]>>
  /** Starts the compiled program. */
  readonly isCompiled?: boolean
  /** The files can share one worker process, because tests replace no modules, and modules keep no state. */
  readonly isShared?: boolean
  /** Only one file with this lock runs at a time. The lock is a port of 127.0.0.1. */
  readonly lock?: number
  /** Where the servers of a scenario run. */
  readonly runner?: 'child-process' | 'in-process'
  /** Returns why the tier cannot run on this machine, or undefined. */
  readonly findObstacle?: () => string | undefined
  /** Prepares the tier and resolves to an exit status. */
  readonly prepare?: () => Promise<number>
}

export const CHROMIUM: readonly string[] = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
export const ETCD: readonly string[] = ['/usr/bin/etcd', '/usr/local/bin/etcd']

/** The directory in which Debian installs the programs of each version of PostgreSQL. */
const POSTGRES = '/usr/lib/postgresql'

/** Returns the directory with the programs of the latest installed PostgreSQL server; undefined if there is none. */
export const findPostgres = (): string | undefined => {
  const versions = existsSync(POSTGRES) ? readdirSync(POSTGRES).sort((a, b) => Number(b) - Number(a)) : []
  return versions
    .map((version) => path.join(POSTGRES, version, 'bin'))
    .find((bin) => existsSync(path.join(bin, 'initdb')))
}

const findMissing = (name: string, files: readonly string[]) => () =>
  files.some((file) => existsSync(file)) ? undefined : `no ${name} was found`

const findMissingDocker = () => {
  if (!findEngine()) return 'no Docker engine responds'
  return findCompose() ? undefined : 'no docker-compose was found'
}

/** Splits a list of file names. */
const files = (text: string): readonly string[] => text.trim().split(/\s+/)
const inProcess = (text: string): readonly string[] => files(text).map((name) => `in-process/${name}`)

/** In the order of a run: tiers with long files first, so that no worker waits for the last file. */
export const TIERS: readonly Tier[] = [
  {
    name: 'containers',
    timeoutMs: 900_000,
    level: { full: ['compose', 'hosts', 'packed-image', 'tools'] },
    isCompiled: true,
    // The files use the ports 8200 to 8299.
    lock: 8199,
    findObstacle: findMissingDocker,
    prepare: () => run(process.execPath, ['dist/main.js', 'image', 'build']),
  },
  { name: 'topology', timeoutMs: 900_000, level: { full: ['crash'] }, isCompiled: true },
  { name: 'package', folder: 'published', timeoutMs: 600_000, level: 'full', isCompiled: true },
  {
    name: 'etcd',
    timeoutMs: 300_000,
    level: { full: ['server'] },
    isCompiled: true,
    // A file starts up to 24 processes, which need most of the processor time of two cores.
    lock: 8198,
    findObstacle: findMissing('etcd', ETCD),
  },
  {
    name: 'postgres',
    timeoutMs: 300_000,
    level: { full: ['database', 'leases', 'recorded'] },
    findObstacle: () => (findPostgres() ? undefined : 'no PostgreSQL server was found'),
  },
  {
    name: 'scenarios',
    timeoutMs: 600_000,
    level: {
      full: ['dr-failover', 'dr-unplanned', 'faults', 'switchover'],
    },
    isCompiled: true,
    runner: 'child-process',
  },
  {
    name: 'browser',
    timeoutMs: 600_000,
    level: { full: ['cluster-view', 'lab-actions', 'new-server', 'nodes', 'page', 'server-page'] },
    isCompiled: true,
    findObstacle: findMissing('Chromium', CHROMIUM),
  },
  {
    name: 'simulation',
    timeoutMs: 3_600_000,
    // `test` plays the first part of the seeds of the day. `full` plays the others.
    level: { test: ['seeds'], full: files('seeds bugs labs shrink determinism') },
  },
  {
    name: 'api',
    timeoutMs: 300_000,
    isCompiled: true,
    level: {
      test: files(`
        agents approle clients closed-ceremonies descriptions examples go-cli http-corpus hvac keys lab-hosts locked-users
        mounts namespaces pair vault-cli vault-cli-rekey
      `),
      full: files(`
        action completion lab-attach lab-drills lab-events lab-faults lab-in-process lab-lifecycle lab-logs lab-operations
        lab-starts lab-status lab-topologies lab-web lab-web-actions manners monitoring own-cli own-endpoints package pages pki
        runbook server-page server-raft server-seal server-start server-storage server-tls transit-seal vault-cli-processes
        wait
      `),
    },
  },
  {
    name: 'golden',
    timeoutMs: 300_000,
    level: { test: ['compatibility', 'golden'], full: ['pair'] },
    isCompiled: true,
  },
  {
    name: 'scenarios-in-process',
    folder: 'scenarios',
    timeoutMs: 600_000,
    runner: 'in-process',
    level: {
      test: [
        ...files('activation ahead audit dr-failover dr-unplanned operation-token performance role-change'),
        ...inProcess('bootstrapping filtered-promotion filtered-views metrics mounts-and-namespaces paths start-lab'),
      ],
      full: [
        ...files(
          'approle drill-catalogue faults forced-failovers four-clusters helper lag planned-failovers revocation',
        ),
        ...files('switchover'),
        ...inProcess('bit-flips drills filtered-moves forwarding identity join-again lab-endpoints lab-library'),
        ...inProcess('lab-nodes-reset lab-reset live-lab nothing-left orders pki restored-credentials ssh transit'),
      ],
    },
  },
  { name: 'component', timeoutMs: 120_000, level: 'test', isShared: true },
  { name: 'conformance', timeoutMs: 120_000, level: 'test' },
  { name: 'unit', timeoutMs: 120_000, level: 'test', isShared: true },
  { name: 'tidy', folder: '', timeoutMs: 60_000, level: 'test' },
]

const ENDING = '.test.ts'

/** Names of all test files of a tier, relative to its folder and without `.test.ts`. */
const namesOf = ({ name, folder = name, runner }: Tier): readonly string[] =>
  readdirSync(path.join(ROOT, 'test', folder), { recursive: folder !== '', encoding: 'utf8' })
    .filter((file) => file.endsWith(ENDING))
    .map((file) => file.slice(0, -ENDING.length))
    .filter((file) => runner !== 'child-process' || !file.startsWith('in-process'))

/**
 * Returns the test files of a tier that run at a level, relative to the package. Throws an Error if the tier names a file
 * that does not exist.
 */
export const filesAt = (tier: Tier, level: Level): readonly string[] => {
  const names = namesOf(tier)
  const lists = typeof tier.level === 'string' ? { [tier.level]: names } : tier.level
  const lost = Object.values(lists)
    .flat()
    .filter((name) => !names.includes(name))
  if (lost.length > 0) throw new Error(`the tier ${tier.name} names files that do not exist: ${lost.join(', ')}`)
  const { folder = tier.name } = tier
  return names
    .filter((name) => level === 'nightly' || lists[level]?.includes(name))
    .map((name) => path.posix.join('test', folder, `${name}${ENDING}`))
}
