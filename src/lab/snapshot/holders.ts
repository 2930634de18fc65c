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
import { unsealWithAny } from '../keys/seals.js'
import { topologyOf } from '../topology/catalogue.js'
import { openCluster } from '../wiring/wire.js'

interface HolderOptions {
  /** Bound on each wait. */
  readonly timeoutMs: number
  readonly clock: Clock
  readonly signal?: AbortSignal | undefined
}

/** Whether each of several servers has the data, in an etcd of its own. */
export const isOfPeers = ({ nodes = [] }: ClusterRecord): boolean =>
  nodes.some(({ etcdPort }) => etcdPort !== undefined)

/**
 * The cluster at the server that has all of its data: the only one, or the active one of several, which is waited for while
 * another one may become so. LabError `conflict` where none does.
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
 * The cluster at the server that is to be given an image, for all of its servers, which run. Of several it is the active one.
 * Where none can be, since they are new, the first is given it before the others join, if each of them has the data; otherwise
 * the cluster is initialised, with keys that are gone with what the image replaces.
 */
export const makeReceiver = async (
  lab: LabRecord,
  cluster: ClusterRecord,
  options: HolderOptions,
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

/** What does not open yet is tried again by whoever waits for an active node. */
const unsealOne = (lab: LabRecord, cluster: ClusterRecord): Promise<void> =>
  withAnonymousClient(cluster, (client) => unsealWithAny(client, lab, cluster)).catch(() => undefined)
