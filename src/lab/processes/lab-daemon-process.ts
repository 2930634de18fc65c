import { rmSync } from 'node:fs'
import { replaceFile } from '../../base/replace-file.js'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { makeDirectory } from '../../base/make-directory.js'
import { type ClusterRecord, type LabDaemonRecord, type LabRecord, serversIn } from '../model/cluster.js'
import { LabDaemonClient } from '../daemon/lab-daemon-client.js'
import type { LabDaemonConfig } from '../daemon/control/run-lab-daemon.js'
import type { HostedFiles } from '../daemon/server-host.js'
import type { Route } from '../model/routes.js'
import { LabError } from '../model/lab-error.js'
import { type Launched, lastLogLines, launchProgram } from './child-process.js'
import { waitFor } from '../requests/wait.js'
import type { LabHost } from './lab-host.js'

/** The system limits the length of socket paths (104 bytes on some systems). */
const SOCKET_PATH_MAX = 100

/** The program of the lab daemon; see `cli/lab-daemon-entrypoint.ts`. */
export const LAB_DAEMON_PROGRAM = path.join('bundle', 'lab-daemon.cjs')

/** The lab daemon with the servers in its process; see `cli/host-entrypoint.ts`. */
const HOST_PROGRAM = path.join('cli', 'host-entrypoint.js')

/** Delays optimization in Node 20: the budget is bytes of executed bytecode, here ten times the default. */
const OPTIMISES_LATE = process.versions.node.startsWith('20.') ? ['--interrupt-budget=1320000'] : []

/**
 * The lab daemon mainly copies bytes: it needs little memory and collects garbage in small steps. The optimizing compiler would
 * load 3 MB of Node code, and time zone data another 1 MB. An idle lab needs neither, and all times are in UTC.
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

/** Starts the lab daemon on its recorded ports and waits until it responds. None may be running. */
export const startLabDaemon = async (
  lab: LabRecord,
  { clock, servers }: LabHost,
  timeoutMs: number,
  signal?: AbortSignal,
  isTied?: boolean,
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
    failure.abort(new LabError('remote', `the lab daemon ended (${ending})\n${lastLogLines(keeper.logFile)}`))
  })
  // While the daemon starts, its silence does not yet mean that the links are down.
  const answers = () =>
    new LabDaemonClient(keeper.socket).list().then(
      () => undefined,
      () => 'it is starting',
    )
  const either = signal ? AbortSignal.any([signal, failure.signal]) : failure.signal
  await waitFor(clock, 'the lab daemon to answer', answers, timeoutMs, either)
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
