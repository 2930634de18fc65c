import { unlessAborted } from '../../base/await-change.js'
import { counted } from '../../base/counted.js'
import { messageOf } from '../../base/printable.js'
import { inStep, note } from '../../base/progress.js'
import { cpSync } from 'node:fs'
import path from 'node:path'
import { describeOwner, findPortOwner } from '../../base/process-owner.js'
import {
  type ClusterRecord,
  describeServer,
  type LabRecord,
  type ServerRecord,
  serversOfLab,
  withProcess,
} from '../model/cluster.js'
import { Interrupted, LabError } from '../model/lab-error.js'
import type { PortPair } from '../model/ports.js'
import { type Ending, lastLogLines } from '../processes/child-process.js'
import { LabDaemonClient } from '../daemon/lab-daemon-client.js'
import { giveRootToken, makeTopology, openCluster, type WireOptions } from '../wiring/wire.js'
import { isOfPeers, loadLabImage } from '../snapshot/load-image.js'
import { imagedServers, type LabImage } from '../snapshot/manifest.js'
import { startDirectory } from '../snapshot/reset.js'
import { takeLabImage } from '../snapshot/take-image.js'
import { findPortInUse, type LabPlan, planLab } from './plan.js'
import { writeFiles } from './server-files.js'
import { claimLab } from '../processes/claim.js'
import { stopLab } from './down.js'
import { launchCluster, removeSocket, startLabDaemon } from '../processes/launch.js'
import { findLab, makeDirectories, removeData, removeLab, saveLab } from '../model/lab-directory.js'
import { openNodes } from '../nodes/nodes.js'
import type { LabHost } from '../processes/lab-host.js'

export interface UpOptions extends WireOptions, LabPlan {
  /**
   * Chooses the ports. Called only if the name is free, because the ports of a running lab with this name would be in
   * use.
   */
  readonly choosePorts: () => Promise<ReadonlyMap<string, PortPair>>
  /** An additional root token on every cluster that serves clients. */
  readonly rootToken?: string | undefined
  /** Whether servers and lab daemon stop when this process ends in any way. */
  readonly isForeground?: boolean | undefined
  /** Its abort makes the cleanup of a failed start kill the servers immediately. */
  readonly forceSignal?: AbortSignal | undefined
}

/** Exit status of a server whose ports or data another process uses. */
const EXIT_CONFLICT = 5
/** Maximum delay of the report that a server has exited, in milliseconds. */
const EXIT_REPORT_MS = 50

/**
 * Starts the servers of a topology, and waits until all secondaries are replicated. Claims the name, and records every
 * server before it starts the first. After a failure, or an abort of `signal`, removes everything except the logs.
 * Rejects with LabError `conflict` if a lab of this name exists.
 */
export const upLab = async (options: UpOptions, host: LabHost): Promise<LabRecord> => {
  const { name } = options
  refuseSuspended(options)
  if (options.dataDir !== undefined) makeDirectories(path.resolve(options.dataDir), 'choose another --data-dir')
  using _claim = claimLab(name, 'started', host)
  refuseWhenThere(name, host)
  for (let left = PORT_TRIES; ; left--) {
    const ports = await options.choosePorts()
    removeLab(name)
    const planned = await planLab(options, ports, host)
    try {
      return await bringUp(planned, options, host)
    } catch (error) {
      const port = options.signal?.aborted ? undefined : await findPortInUse(planned)
      if (port === undefined || left === 1) throw error
      note(`port ${port} is in use${describeOwner(findPortOwner(port))}: choosing other ports`)
    }
  }
}

/** Number of attempts to start, each with other ports, because another process may bind a chosen port first. */
const PORT_TRIES = 3

/**
 * Throws LabError `usage` for an image with a suspended server, because a server in a shared process cannot be
 * suspended.
 */
const refuseSuspended = ({ isInProcess, image }: UpOptions): void => {
  const suspended =
    isInProcess && imagedServers(image?.manifest.clusters ?? []).find(({ process }) => process === 'paused')
  if (suspended)
    throw new LabError(
      'usage',
      `${describeServer(suspended.name)} of the snapshot is suspended, which in-process labs do not support: use a lab of processes`,
    )
}

const refuseWhenThere = (name: string, { servers }: LabHost): void => {
  const lab = findLab(name)
  if (!lab || lab.state === 'failed') return
  if (lab.state === 'attached')
    throw new LabError(
      'conflict',
      `the lab "${name}" is attached to external servers; "understudy down ${name}" unregisters it`,
    )
  const isRunning = servers.findAll([...serversOfLab(lab), lab.keeper].map(({ configFile }) => configFile)).length > 0
  const fix = `"understudy down ${name}" ${isRunning ? 'stops' : 'removes'} it`
  if (lab.state === 'starting') {
    if (isRunning) throw new LabError('conflict', `the start of the lab "${name}" is incomplete; ${fix}`)
    return
  }
  throw new LabError('conflict', `the lab "${name}" is ${isRunning ? 'running' : 'stopped'}; ${fix}`)
}

const bringUp = async (planned: LabRecord, options: UpOptions, host: LabHost): Promise<LabRecord> => {
  let lab = planned
  const failure = new AbortController()
  const signal = options.signal ? AbortSignal.any([options.signal, failure.signal]) : failure.signal
  try {
    saveLab(lab)
    await writeFiles(lab, options, host)
    const launch = { timeoutMs: options.timeoutMs, signal, isTied: options.isForeground }
    const servers = serversOfLab(planned)
    const startDaemon = async () => {
      const { keeper, launched } = await startLabDaemon(lab, host, launch)
      void launched?.ended.then(() => failure.abort(new LabError('remote', 'the lab daemon exited')))
      lab = { ...lab, keeper }
    }
    const startServer = async (server: ServerRecord) => {
      const { process, ended } = await launchCluster(lab, server, host, launch)
      void ended.then((ending) => failure.abort(describeEnd(server, ending)))
      lab = withProcess(lab, server.name, process)
    }
    // The servers of an in-process lab run in the lab daemon. Others start at the same time as the lab daemon.
    const start = async () => {
      if (lab.isInProcess) await startDaemon()
      const daemon = lab.isInProcess ? [] : [startDaemon()]
      await unlessAborted(Promise.all([...daemon, ...servers.map(startServer)]), signal)
      saveLab(lab)
    }
    const what = counted(servers.length, 'server')
    await inStep(`start ${what}`, start, `started ${what}`)
    const { image } = options
    const wire: WireOptions = { ...options, plans: options.topology.plans, signal }
    const load = (saved: LabImage) =>
      inStep('load the saved state', () => loadLabImage(lab, saved, wire, host), 'loaded the saved state')
    const work: Promise<LabRecord> = image ? load(image) : beginWith(lab, options, wire)
    lab = { ...lab, state: 'running', clusters: (await unlessAborted(work, signal)).clusters }
    const running = lab
    const reset = 'the initial state for "reset"'
    await inStep(`store ${reset}`, () => storeInitialImage(running, options, host), `stored ${reset}`)
    saveLab(lab)
    await new LabDaemonClient(lab.keeper.socket).emit({ kind: 'lab-up', details: { topology: lab.topology } })
    return lab
  } catch (error) {
    // The exit of one server explains the errors of the other servers, but may be reported slightly later.
    await host.clock.sleep(EXIT_REPORT_MS)
    const reason: unknown = signal.aborted ? signal.reason : error
    await takeDown(lab, options, host)
    throw explain(reason, lab)
  }
}

const beginWith = async (lab: LabRecord, options: UpOptions, wire: WireOptions): Promise<LabRecord> => {
  const open = await Promise.all(lab.clusters.map((cluster) => openCluster(cluster, wire)))
  await openAll(open, wire)
  const made = await makeTopology(open, options.topology, wire)
  // The nodes of a secondary seal themselves when it joins.
  await openAll(made, wire)
  return { ...lab, clusters: await giveRootToken(made, options.rootToken) }
}

const openAll = async (clusters: readonly ClusterRecord[], wire: WireOptions): Promise<void> => {
  await Promise.all(clusters.map((cluster) => openNodes({ clusters }, cluster, wire)))
}

/** Stores the image to which `reset` returns the lab. */
const storeInitialImage = async (lab: LabRecord, { image }: UpOptions, host: LabHost): Promise<void> => {
  const start = startDirectory(lab)
  // Nodes with storage "raft" have changed their stored membership, so the loaded image no longer matches them.
  if (!image || lab.clusters.some(isOfPeers)) await takeLabImage(lab, start, host)
  else if (image.directory !== start) cpSync(image.directory, start, { recursive: true })
}

/** Returns the error for the exit of a server during the start, with the last lines of its log. */
const describeEnd = ({ name, logFile }: ServerRecord, ending: Ending): LabError => {
  const server = describeServer(name)
  const code = ending === EXIT_CONFLICT ? 'conflict' : 'remote'
  const how = typeof ending === 'number' ? `exited with status ${ending}` : `was killed by ${ending}`
  const lines = lastLogLines(logFile)
  const end = lines === '' ? '' : `\n--- last log lines of ${server}\n${lines}`
  return new LabError(code, `the server of ${server} ${how}${end}`)
}

/**
 * Removes a lab that has started but is unusable. Keeps its logs, as after a failed start. Resolves to the error for
 * the user.
 */
export const abandonLab = async (
  lab: LabRecord,
  error: unknown,
  options: Pick<UpOptions, 'forceSignal'>,
  host: LabHost,
): Promise<LabError> => {
  using _claim = claimLab(lab.name, 'stopped', host)
  await takeDown(lab, options, host)
  return explain(error, lab)
}

/** Removes a lab whose start failed. Its logs and a record of the failure stay. */
const takeDown = (lab: LabRecord, { forceSignal }: Pick<UpOptions, 'forceSignal'>, host: LabHost): Promise<void> =>
  inStep(
    'remove the servers that were started',
    async () => {
      await stopLab(lab, { forceSignal }, host)
      removeData(lab)
      removeSocket(lab.keeper, lab.directory)
      saveLab({ ...lab, state: 'failed' })
    },
    'removed the servers that were started',
  )

const explain = (error: unknown, lab: LabRecord): LabError => {
  const kept = `the lab was removed; its logs are in ${lab.directory}`
  if (error instanceof Interrupted) return new Interrupted(error.signal, `${error.message}: ${kept}`)
  const reason = messageOf(error)
  const code = error instanceof LabError ? error.code : 'remote'
  return new LabError(code, `${reason}\n${kept}`, { cause: error })
}
