import type { Clock } from '../../base/clock.js'
import {
  type ClusterRecord,
  type LabRecord,
  serversIn,
  type ServerRecord,
  withAnonymousClient,
} from '../model/cluster.js'
import { LabError } from '../model/lab-error.js'
import { lookForActive, openNodes, waitForActive } from '../nodes/nodes.js'
import { waitForAnswers } from '../requests/replication.js'
import type { WaitOptions } from '../requests/wait.js'
import { unsealWithAny } from '../keys/seals.js'
import { topologyOf } from '../topology/catalogue.js'
import { openCluster } from '../wiring/wire.js'

/** Whether a cluster has several servers, each with its data in an etcd of its own. */
export const isOfPeers = ({ nodes = [] }: ClusterRecord): boolean =>
  nodes.some(({ etcdPort }) => etcdPort !== undefined)

/**
 * Returns the cluster at the server that has all of its data: the single server or the active node. Waits while a node is
 * becoming active. LabError `conflict` if none becomes active.
 */
export const findHolder = async (cluster: ClusterRecord, clock: Clock): Promise<ClusterRecord> => {
  if (!cluster.nodes) return cluster
  const { active } = await lookForActive(cluster, clock)
  const server = cluster.nodes.find(({ name }) => name === active?.name)
  if (server) return at(cluster, server)
  throw new LabError(
    'conflict',
    `cluster ${cluster.name} has no active node, which alone has all of its data: "understudy start ${cluster.name}" and "understudy unseal ${cluster.name}" give it one`,
  )
}

const at = (cluster: ClusterRecord, server: ServerRecord): ClusterRecord => ({
  ...cluster,
  ...server,
  name: cluster.name,
})

/**
 * Returns the cluster at the server that receives the image for all of its running servers: with several nodes, the active one.
 * If the nodes are new and each has its own data, the first one receives it before the others join. New nodes with shared data
 * are initialized first, with temporary keys that the image replaces.
 */
export const makeReceiver = async (
  lab: LabRecord,
  cluster: ClusterRecord,
  options: WaitOptions,
): Promise<ClusterRecord> => {
  const servers = serversIn<ServerRecord>(cluster)
  await waitForAnswers(
    servers.map((server) => at(cluster, server)),
    options,
  )
  if (!cluster.nodes) return cluster
  const { initialized } = await withAnonymousClient(cluster, (client) => client.read('sys/seal-status'))
  if (initialized === true) {
    await Promise.all(servers.map((server) => unsealOne(lab, at(cluster, server))))
    await openNodes(lab, cluster, options)
  } else {
    if (isOfPeers(cluster)) return cluster
    const { plans } = topologyOf(lab) ?? {}
    await openCluster(cluster, { ...options, shares: 1, threshold: 1, plans, onProgress: () => undefined })
    await waitForActive(cluster, options)
  }
  return findHolder(cluster, options.clock)
}

/** Ignores errors: the caller waits for an active node, and retries then. */
const unsealOne = (lab: LabRecord, cluster: ClusterRecord): Promise<void> =>
  withAnonymousClient(cluster, (client) => unsealWithAny(client, lab, cluster)).catch(() => undefined)
