import type { LabCluster } from '../in-process/in-process-cluster.js'
import type { Kind } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import { findLagBetween } from '../requests/replication.js'
import type { InProcessServer } from '../runner/in-process.js'
import { isStreaming, type ServerImage } from '../runner/server-image.js'

/** All clusters of a lab in this process at one moment, in memory. */
export type Moment = readonly ClusterMoment[]

interface ClusterMoment {
  /** The data, taken at the server that had it all: the only one of its cluster, or the active one. */
  readonly image: ServerImage
  /** The servers of the cluster, each as it was. */
  readonly servers: ReadonlyMap<InProcessServer, ServerState>
}

/** Whether a server that is not to serve is sealed, or does not run at all. */
type ServerState = 'open' | 'sealed' | 'stopped'

/** Takes the images of all clusters, which stop writing before the first is read. */
export const takeMoment = async (clusters: readonly (readonly InProcessServer[])[]): Promise<Moment> => {
  const sources = clusters.map(holderOf)
  try {
    await Promise.all(sources.map((server) => server.pauseForImage()))
    return await Promise.all(
      clusters.map(async (servers, at) => ({
        image: await holderAt(sources, at).takeImage(),
        servers: new Map(servers.map((server) => [server, stateOf(server)])),
      })),
    )
  } finally {
    for (const server of sources) server.releaseFromImage()
  }
}

const holderAt = (servers: readonly InProcessServer[], at: number): InProcessServer => {
  const found = servers[at]
  if (!found) throw new Error('each cluster has one that has its data')
  return found
}

/** The server that has all of the data of its cluster, and can be given other data for all of them. */
const holderOf = (servers: readonly InProcessServer[]): InProcessServer => {
  const found = servers.length > 1 ? servers.find(({ isActive }) => isActive) : servers[0]
  if (found) return found
  const { cluster } = servers[0] ?? { cluster: '' }
  throw new LabError('conflict', `none of the nodes of cluster ${cluster} is active: start and unseal them first`)
}

const stateOf = (server: InProcessServer): ServerState =>
  server.isRunning ? (server.isSealed ? 'sealed' : 'open') : 'stopped'

/**
 * Loads the images into their clusters, all of which stand still before the first has its data. A single server that ran then
 * runs afterwards; of several nodes one has to be active before, and those that run take over the data from it. Servers are
 * sealed where nobody has their keys. A primary is there before its secondaries dial it: those that do not reach it would try
 * again only after a pause.
 */
export const loadMoment = async (moment: Moment): Promise<void> => {
  const all = moment.map(({ image, servers }) => {
    const known = [...servers.keys()]
    return { image, holder: holderOf(known), known }
  })
  await Promise.all(all.map(({ holder, image }) => holder.stopForImage(image)))
  for (const isTurn of TURNS) {
    const turn = all.filter(({ image }) => isTurn(image))
    await Promise.all(turn.map(({ holder, image }) => holder.loadImage(image)))
  }
  for (const { known, image } of all) for (const server of known) server.behaveAs(image)
}

/** Seals or stops the nodes that were not open then; one is active when it resolves. */
export const putToRest = async (
  cluster: LabCluster,
  then: ReadonlyMap<InProcessServer, ServerState>,
): Promise<void> => {
  for (const [server, state] of then) {
    const node = cluster.nodes.find(({ name }) => name === server.name)
    if (state === 'sealed') await node?.seal()
    if (state === 'stopped') await node?.stop()
  }
  await cluster.active()
}

/** A primary of disaster recovery may itself be a secondary of performance replication, never the other way round. */
const TURNS: readonly ((image: ServerImage) => boolean)[] = [
  ({ streams }) => streams.length === 0,
  ({ streams }) => streams.includes('performance') && !streams.includes('dr'),
  ({ streams }) => streams.includes('dr'),
]

/** The first secondary that streamed when the images were taken and does not again, and why; undefined when all do. */
export const findUnreplicatedSince = async (moment: Moment): Promise<string | undefined> => {
  const clusters = moment.map(({ servers }) => [...servers.keys()])
  for (const [at, { image }] of moment.entries()) {
    for (const kind of image.streams) {
      const servers = clusters[at] ?? []
      const missing = await findUnreplicated(servers, kind, clusters)
      if (missing !== undefined) return `${servers[0]?.cluster} (${kind}): ${missing}`
    }
  }
  return undefined
}

const findUnreplicated = async (
  servers: readonly InProcessServer[],
  kind: Kind,
  clusters: readonly (readonly InProcessServer[])[],
): Promise<string | undefined> => {
  const isActive = (server: InProcessServer) => server.isActive
  const secondary = servers.find(isActive)
  if (!secondary) return 'none of its nodes is active'
  const status = secondary.replicationStatus(kind)
  if (!isStreaming(status)) return `it does not stream yet (${status.state}, ${status.connection_state})`
  const primaries = clusters.find((one) =>
    one.some(({ clusterAddress }) => clusterAddress === status.primary_cluster_addr),
  )
  // Of a primary that is not of this lab nothing more is known.
  if (!primaries) return undefined
  const primary = primaries.find(isActive)
  if (!primary) return 'none of the nodes of its primary is active'
  const ask = (one: InProcessServer) => async () => one.replicationStatus(kind)
  return findLagBetween(ask(primary), ask(secondary), kind)
}
