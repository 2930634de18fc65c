import { rmSync } from 'node:fs'
import { replaceFile } from '../../base/replace-file.js'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { makeDirectory } from '../../base/make-directory.js'
import { type ClusterRecord, type LabRecord, type ServerRecord, serversIn } from '../model/cluster.js'
import { LabDaemonClient } from '../daemon/lab-daemon-client.js'
import type { HostedFiles, LabDaemonConfig } from '../daemon/run-lab-daemon.js'
import type { LabDaemonRecord } from '../model/daemon-record.js'
import type { Route } from '../model/routes.js'
import { LabError } from '../model/lab-error.js'
import { type Ending, lastLogLines, type Launched, launchProgram, launchServer } from './child-process.js'
import { waitFor } from '../requests/wait.js'
import type { LabHost } from './lab-host.js'
import type { ProcessFacts, ProcessIdentity } from '../model/process-table.js'

/** The system limits the length of socket paths (104 bytes on some systems). */
const SOCKET_PATH_MAX = 100

/** The program of the lab daemon; see `cli/lab-daemon-entrypoint.ts`. */
export const LAB_DAEMON_PROGRAM = path.join('bundle', 'lab-daemon.cjs')

/** The lab daemon with the servers in its process; see `cli/host-entrypoint.ts`. */
const HOST_PROGRAM = path.join('bundle', 'host.cjs')

/** Delays optimization in Node 20: the budget is bytes of executed bytecode, here ten times the default. */
const OPTIMISES_LATE = process.versions.node.startsWith('20.') ? ['--interrupt-budget=1320000'] : []

/**
 * The lab daemon mainly copies bytes: it needs little memory and collects garbage in small steps. The optimizing
 * compiler would load 3 MB of Node code, and time zone data another 1 MB. An idle lab needs neither, and all times are
 * in UTC.
 */
export const LAB_DAEMON_NODE_OPTIONS = [
  '--max-semi-space-size=1',
  '--max-old-space-size=64',
  '--no-icu-timezone-data',
  ...OPTIMISES_LATE,
]

export const planLabDaemon = (directory: string, word: string, routes: readonly Route[]): LabDaemonRecord => {
  const near = path.join(directory, `keeper-${word.slice(0, 8)}.sock`)
  return {
    configFile: path.join(directory, `keeper-${word}.json`),
    logFile: path.join(directory, 'keeper.log'),
    socket: near.length <= SOCKET_PATH_MAX ? near : path.join(tmpdir(), `understudy-${word}`, 'keeper.sock'),
    routes,
    process: null,
  }
}

interface LaunchOptions {
  /** Timeout of each wait, in milliseconds. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
  /** True if the process stops when this process ends in any way. */
  readonly isTied?: boolean | undefined
}

/**
 * Starts the lab daemon on its recorded ports and waits until it responds. Call it only if no lab daemon is running.
 */
export const startLabDaemon = async (
  lab: LabRecord,
  { clock, servers }: LabHost,
  { timeoutMs, signal, isTied }: LaunchOptions,
): Promise<{ readonly keeper: LabDaemonRecord; readonly launched: Launched | undefined }> => {
  const { keeper } = lab
  if (servers.find(keeper.configFile, keeper.process ?? undefined)) return { keeper, launched: undefined }
  const config: LabDaemonConfig = {
    lab: lab.name,
    directory: lab.directory,
    socket: keeper.socket,
    routes: keeper.routes,
    clusters: lab.clusters.flatMap((cluster) =>
      serversIn(cluster).map(({ name, apiAddress }) => ({ name, apiAddress, labApiToken: cluster.labApiToken })),
    ),
    toxiproxyPort: keeper.toxiproxyPort ?? null,
    ...(lab.isInProcess ? { servers: lab.clusters.flatMap(hostedFilesOf) } : {}),
    // A later start with the seed would repeat the identifiers of the first one.
    ...(lab.state === 'starting' ? { seed: lab.seed } : {}),
    ...(lab.etcd ? { etcd: lab.etcd } : {}),
  }
  makeDirectory(path.dirname(keeper.socket), 0o700)
  replaceFile(keeper.configFile, JSON.stringify(config, undefined, 2))
  const launched = launchProgram([], 'the lab daemon', keeper, {
    ...(lab.isInProcess
      ? { program: HOST_PROGRAM }
      : { program: LAB_DAEMON_PROGRAM, nodeOptions: LAB_DAEMON_NODE_OPTIONS }),
    isTied,
  })
  const failure = new AbortController()
  void launched.ended.then((ending) => {
    failure.abort(new LabError('remote', `the lab daemon exited (${ending})\n${lastLogLines(keeper.logFile)}`))
  })
  // While the daemon starts, a missing response does not mean that the links are down.
  const answers = () =>
    new LabDaemonClient(keeper.socket).list().then(
      () => undefined,
      () => 'it is starting',
    )
  const either = signal ? AbortSignal.any([signal, failure.signal]) : failure.signal
  await waitFor(clock, 'the lab daemon to respond', answers, timeoutMs, either)
  return { keeper: { ...keeper, process: servers.identify(launched.pid) ?? null }, launched }
}

const hostedFilesOf = (cluster: ClusterRecord): HostedFiles[] =>
  serversIn(cluster).map(({ name, configFile, logFile }) => ({
    name,
    configFile,
    logFile,
    ...(cluster.nodes ? { cluster: cluster.name } : {}),
  }))

/** Removes the directory of the daemon's socket if it is outside the lab's directory. */
export const removeSocket = ({ socket }: LabDaemonRecord, directory: string): void => {
  if (path.dirname(socket) !== directory) rmSync(path.dirname(socket), { recursive: true, force: true })
}

/**
 * Returns the process of a cluster's server, or undefined if it is not running. In an in-process lab, that is the lab
 * daemon, if the record shows that it started the server.
 */
export const findServer = (
  { isInProcess, keeper }: Pick<LabRecord, 'isInProcess' | 'keeper'>,
  { configFile, process }: Pick<ServerRecord, 'configFile' | 'process'>,
  { servers }: Pick<LabHost, 'servers'>,
): ProcessFacts | undefined => {
  if (!isInProcess) return servers.find(configFile, process ?? undefined)
  const found = process ? servers.find(keeper.configFile, process) : undefined
  return found?.pid === process?.pid && found?.startTime === process?.startTime ? found : undefined
}

export interface LaunchedServer {
  readonly process: ProcessIdentity | null
  /** Resolves when the process exits by itself. */
  readonly ended: Promise<Ending>
}

/** Starts the server of a cluster: as a separate process, or in the running daemon of an in-process lab. */
export const launchCluster = async (
  { isInProcess, keeper }: Pick<LabRecord, 'isInProcess' | 'keeper'>,
  server: ServerRecord,
  { servers }: Pick<LabHost, 'servers'>,
  { timeoutMs, isTied }: LaunchOptions,
): Promise<LaunchedServer> => {
  if (!isInProcess) {
    const { pid, ended } = launchServer(server.name, server, isTied)
    return { process: servers.identify(pid) ?? null, ended }
  }
  await new LabDaemonClient(keeper.socket).work(server.name, 'start', timeoutMs)
  return { process: keeper.process, ended: new Promise<never>(() => undefined) }
}
