import { cpSync, existsSync, rmSync } from 'node:fs'
import path from 'node:path'
import { inStep } from '../../base/progress.js'
import {
  type ClusterRecord,
  type LabRecord,
  type ServerRecord,
  serversIn,
  withProcess,
  withAnonymousClient,
} from '../model/cluster.js'
import { LabDaemonClient } from '../daemon/lab-daemon-client.js'
import { LabError } from '../model/lab-error.js'
import { claimLab } from '../processes/claim.js'
import { findServer, launchCluster, startLabDaemon } from '../processes/launch.js'
import { hiddenFaultFile, requireLab, saveLab } from '../model/lab-directory.js'
import type { LabHost } from '../processes/lab-host.js'
import type { ProcessFacts } from '../model/process-table.js'
import { waitForAnswers } from '../requests/replication.js'
import { isOfPeers, loadLabImage, type LoadOptions } from './load-image.js'
import {
  formerlyOf,
  type ImagedCluster,
  type ImagedServer,
  type LabImage,
  type Manifest,
  readManifest,
  sealKeyOf,
} from './manifest.js'

/** Returns the directory of the start image: the lab after `up`, or the loaded snapshot. */
export const startDirectory = ({ directory }: Pick<LabRecord, 'directory'>): string => path.join(directory, 'start')

/**
 * Restores a lab to its state after `up`, or to the loaded snapshot: data, keys, faults, clocks and processes. Rejects
 * with LabError `conflict` if the lab has no start image.
 */
export const resetLab = async (name: string, options: LoadOptions, host: LabHost): Promise<Manifest> => {
  const lab = requireLab(name)
  const directory = startDirectory(lab)
  if (!existsSync(directory))
    throw new LabError(
      'conflict',
      `the lab "${name}" has no image of its initial state; run "understudy down" and "understudy up" to create a new lab`,
    )
  const manifest = readManifest(directory)
  await loadInto(name, { directory, manifest }, { ...options, verb: 'reset' }, host)
  return manifest
}

/** Loads an image into an existing lab. The image becomes the start image of the lab, which `resetLab` restores. */
export const loadOver = async (name: string, image: LabImage, options: LoadOptions, host: LabHost): Promise<void> => {
  const lab = requireLab(name)
  requireFit(lab, image.manifest)
  await loadInto(name, image, { ...options, verb: 'load' }, host)
  rmSync(startDirectory(lab), { recursive: true, force: true })
  cpSync(image.directory, startDirectory(lab), { recursive: true })
}

/** Throws if the addresses or seal keys of an image differ from those of the lab: the image then requires a new lab. */
const requireFit = (lab: LabRecord, { clusters, createdAt }: Manifest): void => {
  const isSame = clusters.length === lab.clusters.length && lab.clusters.every((cluster) => fits(cluster, clusters))
  // Nodes with their own etcd members accept only the etcd members of their own lab.
  const isOther = lab.clusters.some(isOfPeers) && lab.createdAt !== createdAt
  if (isSame && !isOther) return
  const text = `the lab "${lab.name}" differs from the lab of the snapshot in its clusters, addresses or keys`
  throw new LabError(
    'conflict',
    `${text}: stop it first ("understudy down ${lab.name}"), or load the snapshot with another --name`,
  )
}

const fits = (cluster: ClusterRecord, clusters: readonly ImagedCluster[]): boolean => {
  const imaged = clusters.find(({ name }) => name === cluster.name)
  if (!imaged) return false
  const servers = serversIn<ServerRecord>(cluster)
  const saved = serversIn<ImagedServer>(imaged)
  const isKnown = (server: ServerRecord) => {
    const known = formerlyOf(cluster, server)
    const formerly = saved.find(({ name }) => name === server.name)?.formerly
    const kinds = ['api', 'cluster', 'hidden'] as const
    return kinds.every((kind) => formerly?.[kind].every((address) => known[kind].includes(address)) ?? false)
  }
  return servers.length === saved.length && sealKeyOf(cluster) === imaged.sealKey && servers.every(isKnown)
}

/**
 * Loads an image into an existing lab. First restarts stopped and suspended servers, single servers without their old
 * data. Also restarts nodes that were removed from their cluster, with an empty directory, so that they can join.
 */
const loadInto = async (
  name: string,
  image: LabImage,
  { verb, onErase, ...options }: LoadOptions & { readonly verb: 'load' | 'reset' },
  host: LabHost,
): Promise<void> => {
  const { savedAt } = image.manifest
  await onErase?.(`the data of all clusters of the lab "${name}" is replaced by their data of ${savedAt}`)
  using _claim = claimLab(name, 'changed', host)
  const load = async () => loadLabImage(await withAllRunning(requireLab(name), options, host), image, options, host)
  const lab = await inStep('load the saved state', load, 'loaded the saved state')
  // The image has no hidden fault, so the next "drill find" can inject one.
  rmSync(hiddenFaultFile(name), { force: true })
  const details = { verb, savedAt }
  await new LabDaemonClient(lab.keeper.socket).emit({ kind: 'command', details })
}

const withAllRunning = async (stale: LabRecord, options: LoadOptions, host: LabHost): Promise<LabRecord> => {
  const { timeoutMs } = options
  const { keeper } = await startLabDaemon(stale, host, options)
  let lab: LabRecord = { ...stale, keeper }
  const servers = lab.clusters.flatMap((cluster) =>
    serversIn<ServerRecord>(cluster).map((server) => ({ cluster, server, found: findServer(lab, server, host) })),
  )
  const launch = async ({ cluster, server }: (typeof servers)[number], isEmpty: boolean) => {
    // With its old data, the server would start to replicate before it loads the image.
    if (isEmpty) rmSync(server.dataDir, { recursive: true, force: true })
    const { process } = await launchCluster(lab, server, host, { timeoutMs })
    lab = withProcess(lab, server.name, process)
    saveLab(lab)
    return { ...cluster, apiAddress: server.apiAddress }
  }
  const idle = servers.filter(({ found }) => !found || found.isFrozen)
  const frozen = idle.flatMap(({ found }) => found ?? [])
  await end(frozen, host)
  const launched: ClusterRecord[] = []
  for (const one of idle) launched.push(await launch(one, !one.cluster.nodes))
  await waitForAnswers(launched, { ...options, clock: host.clock })
  for (const one of servers) {
    if (!isOfPeers(one.cluster) || !(await isRemoved(one))) continue
    const process = findServer(lab, one.server, host)
    await end(process ? [process] : [], host)
    await launch(one, true)
  }
  return lab
}

const end = async (processes: readonly ProcessFacts[], { servers }: LabHost): Promise<void> => {
  for (const process of processes) servers.signal(process, 'SIGKILL')
  await servers.stop(processes, { graceMs: 0 })
}

/** The status of `sys/health` of a node that was removed from its cluster. */
const REMOVED_STATUS = 530

const isRemoved = ({ cluster, server }: { readonly cluster: ClusterRecord; readonly server: ServerRecord }) =>
  withAnonymousClient(
    { ...cluster, apiAddress: server.apiAddress },
    async (client) => (await client.send('GET', 'sys/health')).status === REMOVED_STATUS,
  )
