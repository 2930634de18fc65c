import { workOnAttached } from '../attach/containers.js'
import {
  type AnyLab,
  type ClusterAccess,
  type ClusterRecord,
  clientOf,
  isAttached,
  type LabRecord,
} from '../cluster.js'
import { KeeperClient } from '../keeper/keeper-client.js'
import { LabError } from '../lab-error.js'
import { waitForAnswer } from '../replication.js'
import { cannot } from '../live-lab.js'
import { lastLogLines } from '../runner/child-process.js'
import { sealCluster, unsealCluster, unsealWithAny } from '../seals.js'
import type { ServerVerb, VerbOptions } from '../server-verbs.js'
import { claimLab } from './claim.js'
import { stopAll } from './down.js'
import { commandIn, requireAnyLab, requireLab, saveLab } from './lab-directory.js'
import { findServer, launchCluster } from './cluster-server.js'
import { startKeeper } from './keeper-process.js'
import type { LabHost } from './lab-host.js'

/**
 * Does one thing to some clusters of a lab, or to all when none is named; says of each what was done. What is so already is
 * fine. `start` unseals with the keys that the lab holds, also those of another cluster that this one has followed since.
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
    if (isAttached(known)) return await workOnAttached(known, verb, chooseClusters(known, clusters), options, host)
    const chosen = chooseClusters(known, clusters)
    if (verb === 'start' || verb === 'restart') await ensureKeeper(requireLab(name), options, host)
    for (const cluster of chosen) {
      const lab = requireLab(name)
      options.onProgress(await VERBS[verb]({ lab, cluster, options, host }))
      const command = commandIn(name, `${verb} ${cluster.name}`)
      await new KeeperClient(lab.keeper.socket).tell({
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

/** A keeper that was killed takes every link with it; the next one has the same ports. */
const ensureKeeper = async (lab: LabRecord, { timeoutMs, onProgress }: VerbOptions, host: LabHost): Promise<void> => {
  const { keeper, launched } = await startKeeper(lab, host, timeoutMs)
  if (!launched) return
  saveLab({ ...lab, keeper })
  onProgress('the keeper holds the links of the lab again')
}

export const chooseClusters = <T extends ClusterAccess>(
  lab: Pick<AnyLab, 'name'> & { readonly clusters: readonly T[] },
  names: readonly string[],
): T[] => {
  if (names.length === 0) return [...lab.clusters]
  return names.map((name) => {
    const found = lab.clusters.find((cluster) => cluster.name === name)
    if (found) return found
    throw new LabError(
      'usage',
      `the lab "${lab.name}" has no cluster "${name}"; it has ${lab.clusters.map((one) => one.name).join(', ')}`,
    )
  })
}

interface Work {
  readonly lab: LabRecord
  readonly cluster: ClusterRecord
  readonly options: VerbOptions
  readonly host: LabHost
}

const findProcess = ({ lab, cluster, host }: Work) => findServer(lab, cluster, host)

const keepProcess = ({ lab, cluster }: Work, process: ClusterRecord['process']): void =>
  saveLab({ ...lab, clusters: lab.clusters.map((one) => (one.name === cluster.name ? { ...one, process } : one)) })

const notRunning = ({ name }: ClusterRecord): LabError =>
  new LabError('conflict', `cluster ${name} is not running; "understudy start ${name}" starts it`)

/** Sends a signal to a server that runs. */
const send = (name: NodeJS.Signals, done: string) => async (work: Work) => {
  const running = findProcess(work)
  if (!running) throw notRunning(work.cluster)
  work.host.servers.signal(running, name)
  return `cluster ${work.cluster.name} ${done}`
}

const start = async (work: Work): Promise<string> => {
  const { lab, cluster, options, host } = work
  if (findProcess(work)) return `cluster ${cluster.name} is running`
  const { process, ended } = await launchCluster(lab, cluster, host, options)
  keepProcess(work, process)
  const failure = new AbortController()
  void ended.then((ending) => {
    const last = lastLogLines(cluster.logFile)
    failure.abort(new LabError('remote', `the server of cluster ${cluster.name} ended (${ending})\n${last}`))
  })
  const client = clientOf({ ...cluster, rootToken: '' })
  try {
    await waitForAnswer(host.clock, client, cluster.name, options.timeoutMs, failure.signal)
    await unsealWithAny(client, lab, cluster)
    return `cluster ${cluster.name} is open at ${cluster.apiAddress}`
  } finally {
    client.close()
  }
}

const stop = async (work: Work): Promise<string> => {
  const running = findProcess(work)
  if (running && work.lab.isInProcess) await endHosted(work, 'stop')
  else if (running) await stopAll([running], work.options, work.host)
  return `cluster ${work.cluster.name} is stopped`
}

/** A server that shares the process of the lab ends, and the others go on. */
const endHosted = async (work: Work, verb: 'stop' | 'crash'): Promise<void> => {
  const { lab, cluster, options } = work
  await new KeeperClient(lab.keeper.socket).work(cluster.name, verb, options.timeoutMs)
  keepProcess(work, null)
}

const crash = async (work: Work): Promise<string> => {
  if (!work.lab.isInProcess) {
    const done = await send('SIGKILL', 'was killed')(work)
    await stop(work)
    return done
  }
  if (!findProcess(work)) throw notRunning(work.cluster)
  await endHosted(work, 'crash')
  return `cluster ${work.cluster.name} was killed`
}

/** Freezing a process freezes all that runs in it, the keeper with the links, too. */
const freeze = (verb: 'pause' | 'resume', signal: NodeJS.Signals, done: string) => {
  const sendSignal = send(signal, done)
  return async (work: Work) => {
    if (work.lab.isInProcess) throw cannot(`"${verb}"`, 'in-process')
    return sendSignal(work)
  }
}

const VERBS: Readonly<Record<ServerVerb, (work: Work) => Promise<string>>> = {
  start,
  stop,
  restart: async (work) => {
    await stop(work)
    // The record of the lab says by now that the server is gone.
    const lab = requireLab(work.lab.name)
    const [cluster = work.cluster] = chooseClusters(lab, [work.cluster.name])
    return start({ ...work, lab, cluster })
  },
  crash,
  pause: freeze('pause', 'SIGSTOP', 'is frozen'),
  resume: freeze('resume', 'SIGCONT', 'goes on'),
  unseal: ({ lab, cluster }) => unsealCluster(lab, cluster),
  seal: ({ lab, cluster }) => sealCluster(lab, cluster),
}
