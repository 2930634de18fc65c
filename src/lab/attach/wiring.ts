import { inStep, note } from '../../base/progress.js'
import {
  type AttachedCluster,
  type ClusterAccess,
  type WiredClusters,
  withAnonymousClient,
  withClient,
} from '../model/cluster.js'
import { LabError } from '../model/lab-error.js'
import { openNodes } from '../nodes/nodes.js'
import { unsealWithAny } from '../keys/seals.js'
import { askStatus, findLag, waitForAnswer } from '../requests/replication.js'
import { waitFor } from '../requests/wait.js'
import type { Link, Topology } from '../model/topology.js'
import { joinClusters, waitForPair } from '../wiring/join.js'
import { describeOpen, openCluster, type WireOptions } from '../wiring/wire.js'
import { clusterOf, groupServers } from './attach.js'

interface WiringOptions extends WireOptions {
  /** Called with all known keys after each new key, so that keys are stored as soon as they exist. */
  readonly onKeep: (wired: WiredClusters) => void
  /** The CA file for verifying the APIs of clusters with TLS. */
  readonly caFile?: string | undefined
}

interface Wiring {
  readonly wired: WiredClusters & { readonly clusters: readonly AttachedCluster[] }
  /** The links that match the topology. Links that operations have changed after the first run are omitted. */
  readonly links: readonly Link[]
}

const linkName = ({ kind, primary, secondary }: Link): string => `${kind} ${primary} ${secondary}`

/**
 * Wires a topology from running servers: initializes and unseals each server, and joins the clusters. `addresses`: by
 * the name of the server, `A`, or `A1` and so on for nodes. Nodes join each other through their configuration. If
 * `known` shows an earlier run, unseals the servers that it has initialized, and completes the remaining steps. Rejects
 * with the first error.
 */
export const wireClusters = async (
  topology: Topology,
  addresses: ReadonlyMap<string, string>,
  known: WiredClusters | undefined,
  options: WiringOptions,
): Promise<Wiring> => {
  const clusters = new Map(
    planClusters(topology, addresses, known, options.caFile).map((cluster) => [cluster.name, cluster]),
  )
  const joined = new Set(known ? (known.joined ?? topology.links.map(linkName)) : [])
  const wired = (): Wiring['wired'] => ({
    topology: topology.name,
    clusters: [...clusters.values()],
    joined: [...joined],
  })
  const keep = (cluster: ClusterAccess) => {
    clusters.set(cluster.name, cluster)
    options.onKeep(wired())
  }
  // Checks all servers before it initializes the first, because a wrong address would leave an incomplete setup.
  const areNew = await Promise.all([...clusters.values()].map((cluster) => decideWhetherNew(cluster, options)))
  const open = [...clusters.values()].map((cluster, index) =>
    areNew[index]
      ? openCluster(cluster, { ...options, plans: topology.plans, onKeys: keep })
      : reopen(cluster, wired(), options),
  )
  for (const result of await Promise.allSettled(open)) if (result.status === 'rejected') throw result.reason
  const openAll = () => Promise.all(wired().clusters.map((cluster) => openNodes(wired(), cluster, options)))
  await openAll()
  const links: Link[] = []
  for (const link of topology.links) {
    if (joined.has(linkName(link))) {
      if (await follows(link, clusters, options)) links.push(link)
      continue
    }
    for (const cluster of await joinClusters([...clusters.values()], [link], options))
      clusters.set(cluster.name, cluster)
    joined.add(linkName(link))
    options.onKeep(wired())
    // From now on, the other nodes of a secondary unseal with the shares of its primary.
    await openAll()
    links.push(link)
  }
  return { wired: wired(), links }
}

const planClusters = (
  topology: Topology,
  addresses: ReadonlyMap<string, string>,
  known: WiredClusters | undefined,
  caFile: string | undefined,
): AttachedCluster[] => {
  const groups = groupServers(addresses.keys())
  return topology.clusters.map((name) => {
    const servers = (groups.get(name) ?? []).map((server) => ({
      name: server,
      apiAddress: addresses.get(server) ?? '',
    }))
    const kept = known?.clusters.find((cluster) => cluster.name === name)
    const cluster = clusterOf(name, servers, kept, caFile)
    if (cluster.apiAddress !== '') return cluster
    throw new LabError('usage', `cluster ${name} of the topology ${topology.name} has no address: add ${name}=URL`)
  })
}

const decideWhetherNew = (cluster: ClusterAccess, { clock, timeoutMs, signal }: WireOptions): Promise<boolean> =>
  withClient(cluster, async (client) => {
    const where = `cluster ${cluster.name} at ${cluster.apiAddress}`
    const isKnown = cluster.unsealKeys.length > 0
    await waitForAnswer(clock, client, cluster.name, timeoutMs, signal)
    const isNew = (await client.read('sys/init')).initialized !== true
    if (isNew !== isKnown) return isNew
    const text = isNew
      ? `${where} has lost its data, but the keys file has its keys: to start over, remove the keys file and the data of all clusters`
      : `${where} is already initialized, and its keys are unknown: specify --keep with the keys file of the first run, or use a server without data`
    throw new LabError('remote', text)
  })

/** Unseals a server. Retries, because the server may be restarting. */
const reopen = (cluster: ClusterAccess, wired: WiredClusters, { clock, timeoutMs, signal }: WireOptions) =>
  inStep(
    `unseal cluster ${cluster.name}`,
    () =>
      withAnonymousClient(cluster, (client) => {
        const unsealed = async () => {
          await unsealWithAny(client, wired, cluster)
          return undefined
        }
        return waitFor(clock, `cluster ${cluster.name} to be unsealed`, unsealed, timeoutMs, signal)
      }),
    describeOpen(cluster),
  )

/**
 * Waits until a new link is replicated. Returns false if its clusters have other roles, for example after a failover.
 */
const follows = async (
  link: Link,
  clusters: ReadonlyMap<string, AttachedCluster>,
  options: WireOptions,
): Promise<boolean> => {
  const [primary, secondary] = [clusters.get(link.primary), clusters.get(link.secondary)]
  if (!primary || !secondary) return false
  const { kind } = link
  let isUnchanged = true
  await waitForPair({ primary, secondary, kind }, options, async (above, below) => {
    const [ours, theirs] = await Promise.all([askStatus(above, kind), askStatus(below, kind)])
    isUnchanged = ours.mode === 'primary' && theirs.mode === 'secondary' && ours.clusterId === theirs.clusterId
    return isUnchanged ? findLag(above, below, kind) : undefined
  })
  if (!isUnchanged) note(`${link.secondary} is no longer a ${kind} secondary of ${link.primary}: left unchanged`)
  return isUnchanged
}
