import path from 'node:path'
import { createSystemRandom, type Random } from '../../base/random.js'
import type { ClusterRecord, LabRecord } from '../cluster.js'
import { Interrupted, LabError } from '../lab-error.js'
import { type PortPair, randomSinglePorts } from '../ports.js'
import { type Ending, lastLogLines, launchServer, writeServerConfig } from '../runner/child-process.js'
import type { LabSettings } from '../settings.js'
import type { Topology } from '../topology.js'
import { joinClusters, openCluster, type WireOptions } from '../wire.js'
import { KeeperClient } from '../keeper/keeper-client.js'
import { dialRoutesOf, planRoutes, routeCount } from '../keeper/routes.js'
import { claimLab } from './claim.js'
import { stopLab } from './down.js'
import { findLab, labDirectory, makeDirectories, removeData, removeLab, saveLab } from './lab-directory.js'
import { planKeeper, removeSocket, startKeeper } from './keeper-process.js'
import type { LabHost } from './lab-host.js'

export interface UpOptions extends WireOptions {
  readonly name: string
  readonly topology: Topology
  /** Asked only once the name is known to be free: a lab that runs already has its ports taken. */
  readonly choosePorts: () => Promise<ReadonlyMap<string, PortPair>>
  readonly settings: LabSettings
  /** Where the data goes, in a directory of this lab's own; the lab's directory by default. */
  readonly dataDir?: string | undefined
  /** Aborted to have the servers killed at once while a failed start is taken down. */
  readonly hurry?: AbortSignal | undefined
}

const EXIT_CONFLICT = 5
const RANDOM_WORD_BYTES = 12

/**
 * Brings a topology up as processes of their own and waits until it is replicated. The name is claimed and every server
 * recorded before the first one is started; what failed, or was interrupted through `signal`, is taken down again, and only
 * its logs stay. Throws a conflict when there is a lab of that name.
 */
export const upLab = async (options: UpOptions, host: LabHost): Promise<LabRecord> => {
  const { name } = options
  const claim = claimLab(name, 'started', host.me, host.table)
  try {
    refuseWhenThere(name, host)
    const ports = await options.choosePorts()
    removeLab(name)
    return await bringUp(await planLab(options, ports, host), options, host)
  } finally {
    claim.release()
  }
}

const refuseWhenThere = (name: string, { servers }: LabHost): void => {
  const lab = findLab(name)
  if (!lab || lab.state === 'failed') return
  if (lab.state === 'attached')
    throw new LabError(
      'conflict',
      `the lab "${name}" is attached to servers elsewhere; "understudy down ${name}" forgets it`,
    )
  const runs = servers.findAll([...lab.clusters, lab.keeper].map(({ configFile }) => configFile)).length > 0
  const mend = `"understudy down ${name}" ${runs ? 'stops' : 'removes'} it`
  if (lab.state === 'starting') {
    if (runs) throw new LabError('conflict', `the lab "${name}" was left half started; ${mend}`)
    return
  }
  throw new LabError('conflict', `the lab "${name}" is ${runs ? 'running' : 'stopped'}; ${mend}`)
}

const planLab = async (
  { name, topology, dataDir }: UpOptions,
  ports: ReadonlyMap<string, PortPair>,
  host: LabHost,
): Promise<LabRecord> => {
  const directory = labDirectory(name)
  const random = createSystemRandom()
  const dataRoot = dataDir ? path.join(path.resolve(dataDir), `understudy-${name}-${randomWord(random)}`) : directory
  const routes = planRoutes(ports, await randomSinglePorts(routeCount(topology.clusters.length)))
  return {
    apiVersion: 'understudy/v1',
    name,
    topology: topology.name,
    plan: topology,
    state: 'starting',
    createdAt: new Date(host.clock.now()).toISOString(),
    owner: host.me,
    directory,
    dataRoot,
    keeper: planKeeper(directory, randomWord(random), routes),
    clusters: topology.clusters.map((cluster) => {
      const pair = ports.get(cluster)
      if (!pair) throw new LabError('usage', `no ports were chosen for cluster ${cluster}`)
      return planCluster(cluster, pair, directory, dataRoot, random)
    }),
  }
}

const planCluster = (
  name: string,
  ports: PortPair,
  directory: string,
  dataRoot: string,
  random: Random,
): ClusterRecord => ({
  name,
  apiAddress: `http://127.0.0.1:${ports.api}`,
  clusterAddress: `https://127.0.0.1:${ports.cluster}`,
  ports,
  dataDir: path.join(dataRoot, name, 'data'),
  logFile: path.join(directory, name, 'server.log'),
  configFile: path.join(directory, name, `server-${randomWord(random)}.json`),
  process: null,
  rootToken: '',
  unsealKeys: [],
  threshold: 0,
})

const randomWord = (random: Random): string => random.bytes(RANDOM_WORD_BYTES).toString('hex')

const bringUp = async (planned: LabRecord, options: UpOptions, host: LabHost): Promise<LabRecord> => {
  let lab = planned
  const failure = new AbortController()
  const { signal } = options
  const onAbort = () => failure.abort(signal?.reason)
  if (signal?.aborted) onAbort()
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    saveLab(lab)
    const { keeper, launched } = await startKeeper(lab, host, options.timeoutMs, failure.signal)
    void launched?.ended.then(() => failure.abort(new LabError('remote', 'the keeper of the lab ended')))
    lab = { ...lab, keeper }
    for (const cluster of planned.clusters) {
      failure.signal.throwIfAborted()
      const launched = launch(cluster, lab, options, host)
      void launched.ended.then((ending) => failure.abort(describeEnd(cluster, ending)))
      lab = withCluster(lab, launched.cluster)
      saveLab(lab)
    }
    const wire: WireOptions = { ...options, signal: failure.signal }
    const work = Promise.all(lab.clusters.map((cluster) => openCluster(cluster, wire))).then((open) =>
      joinClusters(open, options.topology.links, wire),
    )
    lab = { ...lab, state: 'running', clusters: await untilAborted(work, failure.signal) }
    saveLab(lab)
    await new KeeperClient(keeper.socket).tell({ kind: 'lab-up', details: { topology: lab.topology } })
    return lab
  } catch (error) {
    // A server that ended explains what the others then failed with.
    await takeDown(lab, options, host)
    throw explain(failure.signal.aborted ? failure.signal.reason : error, lab)
  } finally {
    signal?.removeEventListener('abort', onAbort)
  }
}

const launch = (cluster: ClusterRecord, { keeper }: LabRecord, { settings }: UpOptions, host: LabHost) => {
  makeDirectories(path.dirname(cluster.configFile))
  makeDirectories(path.dirname(cluster.dataDir))
  const dialRoutes = dialRoutesOf(keeper.routes, cluster.name)
  writeServerConfig({ name: cluster.name, ports: cluster.ports, settings, dialRoutes }, cluster)
  const { pid, ended } = launchServer(cluster.name, cluster)
  return { ended, cluster: { ...cluster, process: host.servers.identify(pid) ?? null } }
}

const withCluster = (lab: LabRecord, cluster: ClusterRecord): LabRecord => ({
  ...lab,
  clusters: lab.clusters.map((one) => (one.name === cluster.name ? cluster : one)),
})

const untilAborted = <T>(work: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })

const describeEnd = (cluster: ClusterRecord, ending: Ending): LabError => {
  const code = ending === EXIT_CONFLICT ? 'conflict' : 'remote'
  const how = typeof ending === 'number' ? `with status ${ending}` : `by ${ending}`
  return new LabError(code, `the server of cluster ${cluster.name} ended ${how}${lastLines(cluster)}`)
}

const lastLines = ({ name, logFile }: ClusterRecord): string => {
  const lines = lastLogLines(logFile)
  return lines === '' ? '' : `\n--- last log lines of cluster ${name}\n${lines}`
}

/** Only its logs stay, and a record that says so. */
const takeDown = async (lab: LabRecord, { onProgress, hurry }: UpOptions, host: LabHost): Promise<void> => {
  onProgress('taking down what was started')
  await stopLab(lab, { onProgress, hurry }, host)
  removeData(lab)
  removeSocket(lab.keeper, lab.directory)
  saveLab({ ...lab, state: 'failed' })
}

const explain = (error: unknown, lab: LabRecord): LabError => {
  const kept = `what was started is down again; the logs are kept in ${lab.directory}`
  if (error instanceof Interrupted) return new Interrupted(error.signal, `${error.message}: ${kept}`)
  const reason = error instanceof Error ? error.message : String(error)
  const code = error instanceof LabError ? error.code : 'remote'
  return new LabError(code, `${reason}\n${kept}`, { cause: error })
}
