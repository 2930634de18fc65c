import { copyFileSync, linkSync, rmSync } from 'node:fs'
import path from 'node:path'
import type { ApiClient } from '../../client/api-client.js'
import { checkImage, IMAGE_IN } from '../../server/data/cluster-image.js'
import {
  clientOf,
  type ClusterRecord,
  isNode,
  type LabRecord,
  type ServerRecord,
  serversIn,
  withAnonymousClient,
  withProcess,
} from '../model/cluster.js'
import type { FaultRequest } from '../daemon/active-fault.js'
import { LabDaemonClient } from '../daemon/lab-daemon-client.js'
import { saveLab } from '../model/lab-directory.js'
import { findRecords } from '../nodes/choose.js'
import { findServer } from '../processes/launch.js'
import type { LabHost } from '../processes/lab-host.js'
import { atActiveNodes, lookForActive, openNodes, waitForActive } from '../nodes/nodes.js'
import { askStatus, waitForAnswers } from '../requests/replication.js'
import { findStreamProblem } from '../requests/replication-status.js'
import { sealCluster, unsealWithAny } from '../keys/seals.js'
import { throughRestart } from '../requests/request-errors.js'
import { waitFor, type WaitOptions } from '../requests/wait.js'
import {
  type ImagedCluster,
  type ImagedServer,
  imagedServers,
  imageFile,
  type LabImage,
  type Manifest,
} from './manifest.js'
import type { Clock } from '../../base/clock.js'
import { LabError } from '../model/lab-error.js'
import { topologyOf } from '../topology/catalogue.js'
import { openCluster } from '../wiring/wire.js'

export interface LoadOptions extends Omit<WaitOptions, 'clock'> {
  /** Called before the data of a lab is replaced, with a description of the change. Rejects to stop the command. */
  readonly onErase?: ((what: string) => Promise<void>) | undefined
}

/**
 * Loads an image into the clusters of a lab whose servers all run. Validates the image first. All clusters stop before
 * the first gets new data, and resume unchanged if one cannot stop. With several nodes, one node gets the data and the
 * other nodes copy it. Resolves when all secondaries that streamed in the image stream again.
 */
export const loadLabImage = async (
  lab: LabRecord,
  { directory, manifest }: LabImage,
  options: LoadOptions,
  host: LabHost,
): Promise<LabRecord> => {
  for (const cluster of lab.clusters) imagedOf(manifest, cluster)
  await Promise.all(lab.clusters.map(({ name }) => checkImage(imageFile(directory, name))))
  const given = { ...options, clock: host.clock }
  const receivers = await Promise.all(lab.clusters.map((cluster) => makeReceiver(lab, cluster, given)))
  const daemon = new LabDaemonClient(lab.keeper.socket)
  try {
    await withImageClients(receivers, async (all) => {
      await daemon.heal()
      await stopAll(all, given)
      // Linked after the stop: before, a server may still read the image of an earlier command.
      for (const { name, dataDir } of receivers) linkImage(imageFile(directory, name), path.join(dataDir, IMAGE_IN))
      saveLab({ ...lab, isLoading: true })
      await Promise.all(all.map(({ post }) => post('load')))
    })
    const loaded = withKeys(lab, manifest)
    await openAll(loaded, receivers, manifest, given)
    for (const fault of manifest.faults) await daemon.set(fault as FaultRequest)
    await waitForStreams(loaded, manifest, given)
    const restored = await restoreProcessStates(loaded, manifest, options, host)
    saveLab(restored)
    return restored
  } finally {
    for (const { dataDir } of receivers) rmSync(path.join(dataDir, IMAGE_IN), { force: true })
  }
}

/** A cluster that takes or loads an image. `post` sends a request about images to its server. */
export interface ImagedClient {
  readonly cluster: ClusterRecord
  post(step: string): Promise<Record<string, unknown>>
}

/** Runs work with API clients without a token. Closes the clients afterwards. */
export const withImageClients = async <T>(
  clusters: readonly ClusterRecord[],
  work: (all: readonly ImagedClient[]) => Promise<T>,
): Promise<T> => {
  const clients = clusters.map((cluster) => ({ cluster, client: clientOf({ ...cluster, rootToken: '' }) }))
  const post = (client: ApiClient) => (step: string) => client.call('POST', `/_understudy/v1/image/${step}`)
  try {
    return await work(clients.map(({ cluster, client }) => ({ cluster, post: post(client) })))
  } finally {
    for (const { client } of clients) client.close()
  }
}

const imagedOf = (manifest: Manifest, { name }: Pick<ClusterRecord, 'name'>): ImagedCluster => {
  const found = manifest.clusters.find((cluster) => cluster.name === name)
  if (found) return found
  throw new LabError('conflict', `the snapshot has no cluster ${name}: it belongs to another lab`)
}

/** Stops all clusters, or none: resumes the others if one fails. Retries while a cluster is changing its role. */
const stopAll = async (all: readonly ImagedClient[], { clock, timeoutMs, signal }: WaitOptions): Promise<void> => {
  const stop = ({ cluster, post }: ImagedClient) =>
    throughRestart(
      (fact) => waitFor(clock, `cluster ${cluster.name} to stop serving`, fact, timeoutMs, signal),
      () => post('stop'),
    )
  const failed = (await Promise.allSettled(all.map(stop))).find(({ status }) => status === 'rejected')
  if (failed?.status !== 'rejected') return
  await Promise.all(all.map(({ post }) => post('resume').catch(() => undefined)))
  throw failed.reason
}

/** Creates a hard link to the image for the server, which reads the link and then deletes it. */
const linkImage = (from: string, to: string): void => {
  rmSync(to, { force: true })
  try {
    linkSync(from, to)
  } catch {
    copyFileSync(from, to)
  }
}

const withKeys = (lab: LabRecord, manifest: Manifest): LabRecord => {
  const { isLoading: _, ...rest } = lab
  const clusters = lab.clusters.map((cluster) => {
    const { rootToken, unsealKeys, threshold } = imagedOf(manifest, cluster)
    return { ...cluster, rootToken, unsealKeys, threshold }
  })
  return { ...rest, state: 'running', clusters }
}

const wasServing = ({ process, isSealed }: ImagedServer): boolean => process === 'running' && !isSealed

/** Unseals the servers that received the data first: the other nodes copy it from them, or join them. */
const openAll = async (
  lab: LabRecord,
  receivers: readonly ClusterRecord[],
  manifest: Manifest,
  options: WaitOptions,
): Promise<void> => {
  const open = async (cluster: ClusterRecord) => {
    const { apiAddress } = receivers.find(({ name }) => name === cluster.name) ?? cluster
    await withAnonymousClient({ ...cluster, apiAddress }, async (client) => {
      const { initialized } = await client.read('sys/seal-status')
      if (initialized === true) await unsealWithAny(client, lab, cluster)
    })
    await openNodes(lab, cluster, options)
  }
  await Promise.all(lab.clusters.filter((cluster) => wasServing(imagedOf(manifest, cluster))).map(open))
}

/** Waits until the secondaries that streamed stream again. Does not wait if the image has faults or stopped servers. */
const waitForStreams = async (
  lab: LabRecord,
  manifest: Manifest,
  { clock, timeoutMs, signal }: WaitOptions,
): Promise<void> => {
  if (manifest.faults.length > 0 || !manifest.clusters.every(wasServing)) return
  const { clusters } = await atActiveNodes(lab, clock)
  await Promise.all(
    clusters.map((cluster) =>
      withAnonymousClient(cluster, async (client) => {
        for (const kind of imagedOf(manifest, cluster).streams) {
          const fact = async () => findStreamProblem(await askStatus(client, kind))
          await waitFor(clock, `cluster ${cluster.name} to stream again (${kind})`, fact, timeoutMs, signal)
        }
      }),
    ),
  )
}

/** Seals, suspends or stops servers as in the image. The image itself determines whether a single server is sealed. */
const restoreProcessStates = async (
  lab: LabRecord,
  manifest: Manifest,
  { timeoutMs }: LoadOptions,
  host: LabHost,
): Promise<LabRecord> => {
  let restored = lab
  for (const { name, process, isSealed } of imagedServers(manifest.clusters)) {
    const { cluster, server } = findRecords(lab, name)
    if (isSealed && isNode(name)) await sealCluster(lab, { ...cluster, name, apiAddress: server.apiAddress })
    const running = process === 'running' ? undefined : findServer(lab, server, host)
    if (!running) continue
    if (lab.isInProcess) await new LabDaemonClient(lab.keeper.socket).work(name, 'crash', timeoutMs)
    else host.servers.signal(running, process === 'paused' ? 'SIGSTOP' : 'SIGKILL')
    if (process === 'stopped') restored = withProcess(restored, name, null)
  }
  return restored
}

/** Whether each node of a cluster has its own etcd member, so that the nodes share no data directory. */
export const isOfPeers = ({ nodes = [] }: ClusterRecord): boolean =>
  nodes.some(({ etcdPort }) => etcdPort !== undefined)

/**
 * Returns the cluster at the server that has all of its data: the single server or the active node. Waits while a node
 * is becoming active. Rejects with LabError `conflict` if no node becomes active.
 */
export const findSource = async (cluster: ClusterRecord, clock: Clock): Promise<ClusterRecord> => {
  if (!cluster.nodes) return cluster
  const { active } = await lookForActive(cluster, clock)
  const server = cluster.nodes.find(({ name }) => name === active?.name)
  if (server) return at(cluster, server)
  throw new LabError(
    'conflict',
    `cluster ${cluster.name} has no active node, and only the active node is certain to have all data: run "understudy start ${cluster.name}" and "understudy unseal ${cluster.name}"`,
  )
}

const at = (cluster: ClusterRecord, server: ServerRecord): ClusterRecord => ({
  ...cluster,
  ...server,
  name: cluster.name,
})

/**
 * Returns the cluster at the server that receives the image for all of its running servers. In a multi-node cluster,
 * this is the active node. If the nodes are new and have storage "raft", the first node receives the image before the
 * other nodes join. New nodes with shared data are initialized first, with temporary keys that the image replaces.
 */
const makeReceiver = async (lab: LabRecord, cluster: ClusterRecord, options: WaitOptions): Promise<ClusterRecord> => {
  const servers = serversIn<ServerRecord>(cluster).map((server) => at(cluster, server))
  await waitForAnswers(servers, options)
  if (!cluster.nodes) return cluster
  const { initialized } = await withAnonymousClient(cluster, (client) => client.read('sys/seal-status'))
  if (initialized === true) {
    const unseal = (client: ApiClient) => unsealWithAny(client, lab, cluster)
    // Errors are ignored: openNodes waits for an active node.
    await Promise.all(servers.map((server) => withAnonymousClient(server, unseal).catch(() => undefined)))
    await openNodes(lab, cluster, options)
  } else {
    if (isOfPeers(cluster)) return cluster
    const { plans } = topologyOf(lab) ?? {}
    await openCluster(cluster, { ...options, shares: 1, threshold: 1, plans })
    await waitForActive(cluster, options)
  }
  return findSource(cluster, options.clock)
}
