import type { Clock } from '../../base/clock.js'
import { ApiError } from '../../client/api-client.js'
import { KINDS, type Kind } from '../model/kinds.js'
import { askStatus, findLag, statusOf } from '../requests/replication.js'
import { addressesOfSecondaries, isStreaming, NO_STATUS } from '../requests/replication-status.js'
import { isAt, type KeyOwner } from '../keys/key-ring.js'
import { findLinks, findProblemsOf } from '../status/links.js'
import { askCluster, viewOf } from '../status/observe.js'
import type { Topology } from '../model/topology.js'

/**
 * Returns why a lab is not replicated, with the name of the cluster. Undefined if every secondary streams and has the
 * Merkle root of its primary. Also reports a secondary without a primary, a secondary of the topology with disabled
 * replication, and a stopped secondary that a primary knows.
 */
export const findUnreplicated = async (
  clusters: readonly KeyOwner[],
  { links }: Pick<Topology, 'links'>,
): Promise<string | undefined> => {
  for (const cluster of clusters) {
    for (const kind of KINDS) {
      const isLinked = links.some((link) => link.kind === kind && link.secondary === cluster.name)
      const missing = await (cluster.isRunning
        ? findUnreplicatedKind(cluster, clusters, kind, isLinked)
        : findAwaited(cluster, clusters, kind)
      ).catch(messageOfRefusal)
      if (missing !== undefined) return `${cluster.name} (${kind}): ${missing}`
    }
  }
  return undefined
}

/** Returns the message of a response with an error, such as that of a sealed server. Throws other errors. */
const messageOfRefusal = (error: unknown): string => {
  if (error instanceof ApiError) return error.message
  throw error
}

const findUnreplicatedKind = async (
  cluster: KeyOwner,
  clusters: readonly KeyOwner[],
  kind: Kind,
  isLinked: boolean,
): Promise<string | undefined> => {
  const status = await askStatus(cluster.anonymous, kind)
  const { mode, primaryAddress: address } = status
  if (mode === 'bootstrapping') return 'it is bootstrapping'
  if (mode === 'disabled')
    // A DR secondary is represented in the performance replication set by its DR primary.
    return isLinked && (await askStatus(cluster.anonymous, 'dr')).mode !== 'secondary'
      ? 'it follows no primary: its replication is disabled'
      : undefined
  if (mode !== 'secondary') return undefined
  if (address === '') return 'it is a secondary that follows no primary'
  const primary = clusters.find((one) => isAt(one, address))
  // If the primary is outside this lab, only the connection can be checked.
  if (!primary)
    return isStreaming(status)
      ? undefined
      : `it is disconnected from ${address} (${status.state}, ${status.connectionState})`
  if (!primary.isRunning) return `its primary ${primary.name} is not running`
  return findLag(primary.anonymous, cluster.anonymous, kind)
}

/** Finds a stopped cluster that a primary knows as its secondary. */
const findAwaited = async (
  cluster: KeyOwner,
  clusters: readonly KeyOwner[],
  kind: Kind,
): Promise<string | undefined> => {
  for (const primary of clusters.filter(({ isRunning }) => isRunning)) {
    const addresses = addressesOfSecondaries(await statusOf(primary.anonymous, kind))
    if (addresses.some((address) => isAt(cluster, address)))
      return `it is not running, but ${primary.name} lists it as a secondary`
  }
  return undefined
}

/** Returns all problems of a lab, with the names of the clusters. Empty if the lab is healthy. */
export const findProblems = async (
  clusters: readonly KeyOwner[],
  faultyLinks: readonly string[],
  clock: Clock,
): Promise<string[]> => {
  const views = await Promise.all(
    clusters.map(({ name, apiAddress, isRunning, anonymous }) =>
      viewOf({ name, apiAddress, process: isRunning ? 'running' : 'stopped', pid: null }, () => askCluster(anonymous)),
    ),
  )
  const ask = async (name: string, kind: Kind) => {
    const cluster = clusters.find((one) => one.name === name)
    return cluster ? askStatus(cluster.anonymous, kind) : NO_STATUS
  }
  const faulty = faultyLinks.map((pair) => `the link ${pair} has a fault`)
  return [...(await findProblemsOf(views, findLinks(views, [], clock.now()), ask, clock)), ...faulty]
}
