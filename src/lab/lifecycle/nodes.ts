import type { Clock } from '../../base/clock.js'
import { type ClusterRecord, type LabRecord, type ServerRecord, serversIn, withAnonymousClient } from '../cluster.js'
import { unsealWithAny } from '../seals.js'
import { NODE_LEASE_MS } from '../settings.js'
import { askNode, findBehind, type NodeView } from '../status/node-view.js'
import { waitFor } from '../wait.js'
import type { WireOptions } from '../wire.js'

type WaitOptions = Pick<WireOptions, 'clock' | 'timeoutMs' | 'signal'>

const ANSWER_MS = 1000

/** While one of several nodes takes over, it is waited for so long. */
const TAKE_OVER_MS = 5 * NODE_LEASE_MS

/**
 * The lab with every cluster at the addresses of the node that is active, which is waited for while another one may become so;
 * as it is where it has one server alone, or none that could.
 */
export const atActiveNodes = async (lab: LabRecord, clock: Clock): Promise<LabRecord> => ({
  ...lab,
  clusters: await Promise.all(lab.clusters.map((cluster) => atActiveNode(cluster, clock))),
})

const atActiveNode = async (cluster: ClusterRecord, clock: Clock): Promise<ClusterRecord> => {
  if (!cluster.nodes) return cluster
  let found: ServerRecord | undefined
  const fact = async () => {
    const { active, candidates } = await askNodes(cluster)
    found = active ?? candidates[0]
    return active || candidates.length === 0 ? undefined : 'none of its nodes is active'
  }
  await waitFor(clock, `cluster ${cluster.name} to have an active node`, fact, TAKE_OVER_MS).catch(() => undefined)
  return found ? { ...cluster, apiAddress: found.apiAddress, clusterAddress: found.clusterAddress } : cluster
}

/** The active node, and those that may become so. */
const askNodes = async (
  cluster: ClusterRecord,
): Promise<{ readonly active: ServerRecord | undefined; readonly candidates: readonly ServerRecord[] }> => {
  const servers = serversIn(cluster)
  const ask = (server: ServerRecord) =>
    withAnonymousClient({ ...cluster, ...server }, (client) => askNode(server, client), ANSWER_MS)
  const views = await Promise.all(servers.map(ask))
  const isOpen = ({ state }: NodeView) => !['sealed', 'initializing', 'stopped', 'silent'].includes(state)
  return {
    active: servers[views.findIndex(({ isActive }) => isActive)],
    candidates: servers.filter((_, index) => views.some((view, at) => at === index && isOpen(view))),
  }
}

const findActive = async (cluster: ClusterRecord): Promise<ServerRecord | undefined> => (await askNodes(cluster)).active

/** Waits for an active node among several, and unseals the others with what the lab holds. */
export const openNodes = async (
  lab: Pick<LabRecord, 'clusters'>,
  cluster: ClusterRecord,
  { clock, timeoutMs, signal }: WaitOptions,
): Promise<void> => {
  if (!cluster.nodes) return
  const isActive = async () => ((await findActive(cluster)) ? undefined : 'none of its nodes is active')
  await waitFor(clock, `cluster ${cluster.name} to have an active node`, isActive, timeoutMs, signal)
  const active = await findActive(cluster)
  const { appliedIndex } = await withAnonymousClient({ ...cluster, ...active }, (client) => askNode(cluster, client))
  for (const node of cluster.nodes) {
    await withAnonymousClient({ ...cluster, ...node }, async (client) => {
      const caughtUp = async () => {
        await unsealWithAny(client, lab, cluster)
        return findBehind(await askNode(node, client), appliedIndex ?? 0)
      }
      await waitFor(clock, `${node.name} to be open`, caughtUp, timeoutMs, signal)
    })
  }
}
