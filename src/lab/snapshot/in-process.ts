import type { LabCluster } from '../in-process/in-process-cluster.js'
import type { Kind } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import { findLagBetween } from '../requests/replication.js'
import { isStreaming } from '../requests/replication-status.js'
import type { InProcessServer, ServerImage } from '../runner/in-process.js'

/** All clusters of an in-process lab at one time, in memory. */
export type Moment = readonly ClusterMoment[]

interface ClusterMoment {
  /** The data, from the server that has all of it: the single server or the active node. */
  readonly image: ServerImage
  /** The servers of the cluster with their states. */
  readonly servers: ReadonlyMap<InProcessServer, ServerState>
}

/** Whether a server serves requests, is sealed, or is stopped. */
type ServerState = 'open' | 'sealed' | 'stopped'

/** Takes the images of all clusters. All of them stop writing before the first is read. */
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

/** Returns the server that has all data of its cluster, and through which that data can be replaced. */
const holderOf = (servers: readonly InProcessServer[]): InProcessServer => {
  const found = servers.length > 1 ? servers.find(({ isActive }) => isActive) : servers[0]
  if (found) return found
  const { cluster } = servers[0] ?? { cluster: '' }
  throw new LabError('conflict', `none of the nodes of cluster ${cluster} is active: start and unseal them first`)
}

const stateOf = (server: InProcessServer): ServerState =>
  server.isRunning ? (server.isSealed ? 'sealed' : 'open') : 'stopped'

/**
 * Loads the images into their clusters. All clusters stop before the first gets its data. A single server runs afterwards if it
 * ran in the image. A cluster with several nodes must have an active one, from which the other running nodes copy the data.
 * Servers without known keys stay sealed. Primaries start before their secondaries, whose failed connections would be retried
 * only after a pause.
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

/** Seals or stops the nodes that were sealed or stopped in the image. Afterwards, one is active. */
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

/** A DR primary may be a performance secondary. A performance primary is never a DR secondary. */
const TURNS: readonly ((image: ServerImage) => boolean)[] = [
  ({ streams }) => streams.length === 0,
  ({ streams }) => streams.includes('performance') && !streams.includes('dr'),
  ({ streams }) => streams.includes('dr'),
]

/** Finds the first secondary that streamed in the image and does not stream now, with the reason. Undefined if all stream. */
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
  if (!isStreaming(status)) return `it does not stream yet (${status.state}, ${status.connectionState})`
  const primaries = clusters.find((one) => one.some(({ clusterAddress }) => clusterAddress === status.primaryAddress))
  // Only the connection to a primary outside this lab is known.
  if (!primaries) return undefined
  const primary = primaries.find(isActive)
  if (!primary) return 'none of the nodes of its primary is active'
  const ask = (one: InProcessServer) => async () => one.replicationStatus(kind)
  return findLagBetween(ask(primary), ask(secondary))
}
