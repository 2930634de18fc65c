import { rm } from 'node:fs/promises'
import type { ApiClient } from '../../client/api-client.js'
import { workOnAttached } from './containers.js'
import {
  type ClusterRecord,
  clientOf,
  describeServer,
  isAttached,
  type LabRecord,
  type ServerRecord,
  withProcess,
} from '../model/cluster.js'
import { LabDaemonClient } from '../daemon/lab-daemon-client.js'
import { LabError } from '../model/lab-error.js'
import { waitForAnswer } from '../requests/replication.js'
import { type Ending, lastLogLines } from '../processes/child-process.js'
import { sealCluster, unsealCluster } from '../keys/seals.js'
import { cannot, type ServerVerb, type VerbOptions } from '../model/server-verbs.js'
import { chooseServers, findRecords } from '../nodes/choose.js'
import { claimLab } from '../processes/claim.js'
import { stopAll } from './down.js'
import { commandIn, requireAnyLab, requireLab, saveLab } from '../model/lab-directory.js'
import { findServer, launchCluster } from '../processes/cluster-server.js'
import { startLabDaemon } from '../processes/lab-daemon-process.js'
import type { LabHost } from '../processes/lab-host.js'
import { openNode } from '../nodes/nodes.js'
import { openRunning, openStarted } from './open-server.js'

/**
 * Runs an action on some clusters of a lab, or on all without names, and reports each result. A state that is already reached is
 * not an error. `start` unseals with keys of the lab, including those of clusters from which this one has replicated.
 */
export const workOnServers = async (
  name: string,
  verb: ServerVerb,
  clusters: readonly string[],
  options: VerbOptions,
  host: LabHost,
): Promise<void> => {
  const claim = claimLab(name, 'changed', host.me, host.table)
  try {
    const known = requireAnyLab(name)
    if (isAttached(known)) return await workOnAttached(known, verb, clusters, options, host)
    const chosen = chooseServers(known, clusters)
    if (verb === 'start' || verb === 'restart') await ensureLabDaemon(requireLab(name), options, host)
    const launched = verb === 'start' ? await launchPeers(name, chosen, options, host) : new Map<string, Launched>()
    for (const server of chosen) {
      const lab = requireLab(name)
      const { cluster } = findRecords(lab, server.name)
      options.onProgress(
        await VERBS[verb]({ lab, cluster, server, options, host, launched: launched.get(server.name) }),
      )
      const command = commandIn(name, `${verb} ${server.name}`)
      await new LabDaemonClient(lab.keeper.socket).tell({
        cluster: cluster.name,
        kind: 'command',
        details: { verb },
        command,
      })
    }
  } finally {
    claim.release()
  }
}

/** Restarts a killed lab daemon on the same ports, since all links are down without it. */
const ensureLabDaemon = async (
  lab: LabRecord,
  { timeoutMs, onProgress }: VerbOptions,
  host: LabHost,
): Promise<void> => {
  const { keeper, launched } = await startLabDaemon(lab, host, timeoutMs)
  if (!launched) return
  saveLab({ ...lab, keeper })
  onProgress('the lab daemon holds the links of the lab again')
}

interface Work {
  readonly lab: LabRecord
  readonly cluster: ClusterRecord
  /** The single server of the cluster, or one of its nodes. */
  readonly server: ServerRecord
  readonly options: VerbOptions
  readonly host: LabHost
  /** Set if the server was just started. */
  readonly launched?: Launched | undefined
}

interface Launched {
  /** Resolves when the process exits by itself. */
  readonly ended: Promise<Ending>
}

const findProcess = ({ lab, server, host }: Work) => findServer(lab, server, host)

const keepProcess = ({ lab, server }: Work, process: ServerRecord['process']): void =>
  saveLab(withProcess(lab, server.name, process))

/** Returns `cluster A` or `node A2`. */
const nameOf = ({ server }: Work): string => describeServer(server.name)

const notRunning = (work: Work): LabError => {
  const command = commandIn(work.lab.name, `start ${work.server.name}`)
  return new LabError('conflict', `${nameOf(work)} is not running; "${command}" starts it`)
}

/** Sends a signal to a running server. */
const send = (name: NodeJS.Signals, done: string) => async (work: Work) => {
  const running = findProcess(work)
  if (!running) throw notRunning(work)
  work.host.servers.signal(running, name)
  return `${nameOf(work)} ${done}`
}

/** Starts all nodes before it waits for the first: nodes with data of their own respond only once enough of them run. */
const launchPeers = async (
  name: string,
  servers: readonly ServerRecord[],
  options: VerbOptions,
  host: LabHost,
): Promise<ReadonlyMap<string, Launched>> => {
  const launched = new Map<string, Launched>()
  for (const server of servers.filter(({ etcdPort }) => etcdPort !== undefined)) {
    const lab = requireLab(name)
    const work = { lab, ...findRecords(lab, server.name), options, host }
    if (!findProcess(work)) launched.set(server.name, await launch(work))
  }
  return launched
}

const launch = async (work: Work): Promise<Launched> => {
  const { lab, server, options, host } = work
  const { process, ended } = await launchCluster(lab, server, host, options)
  keepProcess(work, process)
  return { ended }
}

const start = async (work: Work): Promise<string> => {
  const { cluster, server } = work
  const running = work.launched ? undefined : findProcess(work)
  // A suspended server does not respond, and nodes with data of their own unseal only once enough of them run.
  if (running && (running.isFrozen || server.etcdPort !== undefined)) return `${nameOf(work)} is running`
  const client = clientOf({ ...cluster, apiAddress: server.apiAddress, rootToken: '' })
  try {
    if (running) return await openRunning(work, client, boundsOf(work))
    return await open(work, client)
  } finally {
    client.close()
  }
}

const boundsOf = ({ options, host }: Work) => ({ clock: host.clock, timeoutMs: options.timeoutMs })

const open = async (work: Work, client: ApiClient): Promise<string> => {
  const { lab, cluster, server, options, host } = work
  const { ended } = work.launched ?? (await launch(work))
  const failure = new AbortController()
  void ended.then((ending) => {
    const last = lastLogLines(server.logFile)
    failure.abort(new LabError('remote', `the server of ${nameOf(work)} ended (${ending})\n${last}`))
  })
  if (server.etcdPort === undefined) {
    await waitForAnswer(host.clock, client, server.name, options.timeoutMs, failure.signal)
    return openStarted(work, client, boundsOf(work))
  }
  await openNode({ lab, cluster, node: server }, { ...options, clock: host.clock, signal: failure.signal })
  return `${nameOf(work)} is open at ${server.apiAddress}`
}

const stop = async (work: Work): Promise<string> => {
  const running = findProcess(work)
  if (running && work.lab.isInProcess) await endHosted(work, 'stop')
  else if (running) await stopAll([running], work.options, work.host)
  return `${nameOf(work)} is stopped`
}

/** Stops or crashes one server in the process of the lab daemon. The others continue. */
const endHosted = async (work: Work, verb: 'stop' | 'crash'): Promise<void> => {
  const { lab, server, options } = work
  await new LabDaemonClient(lab.keeper.socket).work(server.name, verb, options.timeoutMs)
  keepProcess(work, null)
}

const crash = async (work: Work): Promise<string> => {
  if (!work.lab.isInProcess) {
    const done = await send('SIGKILL', 'was killed')(work)
    await stop(work)
    return done
  }
  if (!findProcess(work)) throw notRunning(work)
  await endHosted(work, 'crash')
  return `${nameOf(work)} was killed`
}

/** Suspends or resumes the process. In an in-process lab, that would include the lab daemon and the links. */
const freeze = (verb: 'pause' | 'resume', signal: NodeJS.Signals, done: string) => {
  const sendSignal = send(signal, done)
  return async (work: Work) => {
    if (work.lab.isInProcess) throw cannot(`"${verb}"`, 'in-process')
    return sendSignal(work)
  }
}

/** Deletes the data of a server. The memory of a hosted server is released with it. */
const wipe = async (work: Work): Promise<string> => {
  if (work.lab.isInProcess) throw cannot('"wipe"', 'in-process')
  const { name, dataDir } = work.server
  if (findProcess(work))
    throw new LabError('conflict', `${nameOf(work)} is running; "${commandIn(work.lab.name, `stop ${name}`)}" ends it`)
  await rm(dataDir, { recursive: true, force: true })
  return `${nameOf(work)} has no data any more`
}

/** Returns the keys of the cluster at the address of one of its servers. */
const atServer = ({ cluster, server }: Work): ClusterRecord => ({
  ...cluster,
  name: server.name,
  apiAddress: server.apiAddress,
})

const VERBS: Readonly<Record<ServerVerb, (work: Work) => Promise<string>>> = {
  start,
  stop,
  restart: async (work) => {
    await stop(work)
    // Read again, because the record now shows that the server is stopped.
    const lab = requireLab(work.lab.name)
    return start({ ...work, lab, ...findRecords(lab, work.server.name) })
  },
  crash,
  pause: freeze('pause', 'SIGSTOP', 'is frozen'),
  resume: freeze('resume', 'SIGCONT', 'goes on'),
  wipe,
  unseal: (work) => unsealCluster(work.lab, atServer(work)),
  seal: (work) => sealCluster(work.lab, atServer(work)),
}
