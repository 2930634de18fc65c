import type { ApiClient } from '../../client/api-client.js'
import type { Clock } from '../../base/clock.js'
import {
  type ClusterAccess,
  type LabAccess,
  type ServerRecord,
  serversIn,
  withAnonymousClient,
  withClient,
} from '../model/cluster.js'
import { LabError } from '../model/lab-error.js'
import { askStatus } from '../requests/replication.js'
import { unsealWithAny } from '../keys/seals.js'
import { NODE_LEASE_MS } from '../model/settings.js'
import { askNode, findBehind, type NodeView } from '../status/node-view.js'
import { waitFor, type WaitOptions } from '../requests/wait.js'

const TIMEOUT_MS = 1000

/** Maximum time until another node becomes active, in milliseconds. */
const TAKE_OVER_MS = 5 * NODE_LEASE_MS

/** A node of a cluster. `clusterAddress` and `etcdPort` are known only if the lab started the node. */
export type NodeAccess = Pick<ServerRecord, 'name' | 'apiAddress'> &
  Partial<Pick<ServerRecord, 'clusterAddress' | 'etcdPort'>>

export interface ClusterOfNodes extends ClusterAccess {
  readonly nodes?: readonly NodeAccess[] | undefined
}

/**
 * Returns the lab with each cluster at the address of its active node. Waits while a node is becoming active. A cluster
 * with a single server, or without a node that can become active, is unchanged.
 */
export const atActiveNodes = async <L extends { readonly clusters: readonly ClusterOfNodes[] }>(
  lab: L,
  clock: Clock,
): Promise<L> => ({
  ...lab,
  clusters: await Promise.all(lab.clusters.map((cluster) => atActiveNode(cluster, clock))),
})

const atActiveNode = async <C extends ClusterOfNodes>(cluster: C, clock: Clock): Promise<C> => {
  if (!cluster.nodes) return cluster
  const { active, candidates } = await lookForActive(cluster, clock)
  const found = active ?? candidates[0]
  if (!found) return cluster
  const { apiAddress, clusterAddress } = found
  return { ...cluster, apiAddress, ...(clusterAddress === undefined ? {} : { clusterAddress }) }
}

/**
 * Asks the nodes of a cluster until one is active, none can become active, or the maximum time of an election has
 * passed.
 */
export const lookForActive = async (cluster: ClusterOfNodes, clock: Clock): Promise<AskedNodes> => {
  let asked: AskedNodes = { active: undefined, candidates: [], answering: [] }
  const fact = async () => {
    asked = await askNodes(cluster)
    return asked.active || asked.candidates.length === 0 ? undefined : 'none of its nodes is active'
  }
  await waitFor(clock, `cluster ${cluster.name} to have an active node`, fact, TAKE_OVER_MS).catch(() => undefined)
  return asked
}

/**
 * Returns the cluster at the API address of its active node, or of a candidate, or of any node that responds. Returns a
 * single-server cluster unchanged.
 */
export const atReachableNode = async (cluster: ClusterOfNodes): Promise<ClusterAccess> => {
  if (!cluster.nodes) return cluster
  const { active, candidates, answering } = await askNodes(cluster)
  const { apiAddress } = active ?? candidates[0] ?? answering[0] ?? cluster
  return { ...cluster, apiAddress }
}

interface AskedNodes {
  readonly active: NodeAccess | undefined
  /** The nodes that can become active. */
  readonly candidates: readonly NodeAccess[]
  /** The nodes that respond. */
  readonly answering: readonly NodeAccess[]
}

/** Asks every node of a cluster for its state. */
export const askNodes = async (cluster: ClusterOfNodes): Promise<AskedNodes> => {
  const ask = async (server: NodeAccess) => {
    const view = await withAnonymousClient({ ...cluster, ...server }, (client) => askNode(server, client), TIMEOUT_MS)
    return { server, view }
  }
  const asked = await Promise.all(serversIn<NodeAccess>(cluster).map(ask))
  const having = (matches: (view: NodeView) => boolean) =>
    asked.filter(({ view }) => matches(view)).map(({ server }) => server)
  return {
    active: having(({ isActive }) => isActive)[0],
    candidates: having(({ state }) => !['sealed', 'initializing', 'removed', 'stopped', 'silent'].includes(state)),
    answering: having(({ state }) => state !== 'stopped' && state !== 'silent'),
  }
}

/** Returns the node that reports to be active. Undefined if none does. */
export const findActive = async (cluster: ClusterOfNodes): Promise<NodeAccess | undefined> =>
  (await askNodes(cluster)).active

/** Waits until one of several nodes is active, and returns that node. */
export const waitForActive = async (
  cluster: ClusterOfNodes,
  { clock, timeoutMs, signal }: WaitOptions,
): Promise<NodeAccess | undefined> => {
  let active: NodeAccess | undefined
  const fact = async () => {
    active = await findActive(cluster)
    return active ? undefined : 'none of its nodes is active'
  }
  await waitFor(clock, `cluster ${cluster.name} to have an active node`, fact, timeoutMs, signal)
  return active
}

/** Waits until a node is active, and unseals the other nodes with keys of the lab. Does nothing for a single server. */
export const openNodes = async (
  lab: Pick<LabAccess, 'clusters'>,
  cluster: ClusterOfNodes,
  options: WaitOptions,
): Promise<void> => {
  if (!cluster.nodes) return
  const active = await waitForActive(cluster, options)
  const { appliedIndex } = await withAnonymousClient({ ...cluster, ...active }, (client) => askNode(cluster, client))
  const open = (node: NodeAccess) => openNode({ lab, cluster, node, appliedIndex: appliedIndex ?? 0 }, options)
  const hasPeers = cluster.nodes.some(({ etcdPort }) => etcdPort !== undefined)
  // Nodes with storage "raft" join their cluster when they are unsealed, and etcd adds one member at a time.
  if (hasPeers) for (const node of cluster.nodes) await open(node)
  else await Promise.all(cluster.nodes.map(open))
  if (hasPeers && cluster.rootToken !== '') await waitForVotes({ ...cluster, ...active, name: cluster.name }, options)
}

interface Opening {
  readonly lab: Pick<LabAccess, 'clusters'>
  readonly cluster: ClusterOfNodes
  readonly node: NodeAccess
  readonly appliedIndex?: number
}

/**
 * Unseals a node with keys of the lab after it has joined its cluster, and waits until it has applied `appliedIndex`.
 * Rejects with LabError `conflict` if the node was removed from its cluster.
 */
export const openNode = async (
  { lab, cluster, node, appliedIndex = 0 }: Opening,
  { clock, timeoutMs, signal }: WaitOptions,
): Promise<void> => {
  await withAnonymousClient({ ...cluster, apiAddress: node.apiAddress }, async (client) => {
    let isRemoved = false
    const caughtUp = async () => {
      isRemoved = (await askNode(node, client)).state === 'removed'
      if (isRemoved) return undefined
      if ((await client.read('sys/seal-status')).initialized !== true) return 'it has not joined its cluster yet'
      await unsealWithAny(client, lab, cluster)
      return findBehind(await askNode(node, client), appliedIndex)
    }
    await waitFor(clock, `${node.name} to be unsealed`, caughtUp, timeoutMs, signal)
    if (isRemoved)
      throw new LabError(
        'conflict',
        `${node.name} was removed from its cluster; stop the node and remove its data, so that it can join again`,
      )
  })
}

/**
 * Waits until all members can vote, because a cluster with fewer voters tolerates the loss of fewer nodes. Does not
 * wait for a DR secondary, which reports its voters only to an operation token.
 */
const waitForVotes = (cluster: ClusterOfNodes, { clock, timeoutMs, signal }: WaitOptions): Promise<void> =>
  withClient(cluster, async (client) => {
    const fact = async () => {
      if ((await askStatus(client, 'dr')).mode === 'secondary') return undefined
      const voters = await votersOf(client)
      const missing = (cluster.nodes ?? []).map(({ name }) => name).filter((name) => !voters.includes(name))
      return missing.length > 0 ? `${missing.join(' and ')} cannot vote yet` : undefined
    }
    await waitFor(clock, `all nodes of ${cluster.name} to become voters`, fact, timeoutMs, signal)
  })

interface Members {
  readonly config: { readonly servers: readonly { readonly node_id: string; readonly voter: boolean }[] }
}

const votersOf = async (client: ApiClient): Promise<readonly string[]> => {
  const { data } = await client.read('sys/storage/raft/configuration')
  return (data as Members).config.servers.filter(({ voter }) => voter).map((server) => server.node_id)
}
