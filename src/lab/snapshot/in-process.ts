import type { LabCluster } from '../in-process/in-process-cluster.js'
import type { Kind } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import { findLagBetween } from '../requests/replication.js'
import { isStreaming } from '../requests/replication-status.js'
import type { InProcessServer, ServerImage } from '../runner/in-process.js'

/**
 * All clusters of an in-process lab at one time, in memory. `image` has the data, from the server that has all of it: the
 * single server or the active node.
 */
export type Moment = readonly {
  readonly image: ServerImage
  readonly servers: ReadonlyMap<InProcessServer, ServerState>
}[]

/** Whether a server serves requests, is sealed, or is stopped. */
type ServerState = 'open' | 'sealed' | 'stopped'

/** Takes the images of all clusters. All of them stop writing before the first is read. */
export const takeMoment = async (clusters: readonly (readonly InProcessServer[])[]): Promise<Moment> => {
  const sources = clusters.map((servers) => ({ servers, holder: holderOf(servers) }))
  try {
    await Promise.all(sources.map(({ holder }) => holder.pauseForImage()))
    return await Promise.all(
      sources.map(async ({ servers, holder }) => ({
        image: await holder.takeImage(),
        servers: new Map(servers.map((server) => [server, stateOf(server)])),
      })),
    )
  } finally {
    for (const { holder } of sources) holder.releaseFromImage()
  }
}

/** Returns the server that has all data of its cluster, and that can load an image. */
const holderOf = (servers: readonly InProcessServer[]): InProcessServer => {
  const found = servers.length > 1 ? servers.find(({ isActive }) => isActive) : servers[0]
  if (found) return found
  const { cluster } = servers[0] ?? { cluster: '' }
  throw new LabError('conflict', `cluster ${cluster} has no active node: start and unseal its nodes first`)
}

const stateOf = (server: InProcessServer): ServerState =>
  server.isRunning ? (server.isSealed ? 'sealed' : 'open') : 'stopped'

/**
 * Loads the images into their clusters. All clusters stop before the first gets its data. A single server runs afterwards if
 * it ran in the image. A multi-node cluster must have an active node, from which the other running nodes copy the data.
 * Servers without known keys stay sealed. Primaries start before their secondaries, because a secondary retries a failed
 * connection only after a pause.
 */
export const loadMoment = async (moment: Moment): Promise<void> => {
  const all = moment.map(({ image, servers }) => ({ image, servers, holder: holderOf([...servers.keys()]) }))
  await Promise.all(all.map(({ holder, image }) => holder.stopForImage(image)))
  for (const turn of [0, 1, 2]) {
    const next = all.filter(({ image }) => turnOf(image) === turn)
    await Promise.all(next.map(({ holder, image }) => holder.loadImage(image)))
  }
  for (const { servers, image } of all) for (const server of servers.keys()) server.behaveAs(image)
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

/** Returns the start position: primaries, then performance secondaries, which may be DR primaries, then DR secondaries. */
const turnOf = ({ streams }: ServerImage): number => (streams.includes('dr') ? 2 : streams.length)

/** Finds the first secondary that streamed in the image and does not stream now, with the reason. Undefined if all stream. */
export const findUnreplicatedSince = async (moment: Moment): Promise<string | undefined> => {
  const clusters = moment.map(({ image, servers }) => ({ image, servers: [...servers.keys()] }))
  const active = clusters.flatMap(({ servers }) => servers.filter(({ isActive }) => isActive))
  const activeOf = (name: string | undefined) => active.find(({ cluster }) => cluster === name)
  const findMissing = async (secondary: InProcessServer | undefined, kind: Kind): Promise<string | undefined> => {
    if (!secondary) return 'none of its nodes is active'
    const status = secondary.replicationStatus(kind)
    if (!isStreaming(status)) return `it does not stream yet (${status.state}, ${status.connectionState})`
    const nodes = clusters.flatMap(({ servers }) => servers)
    const known = nodes.find(({ clusterAddress }) => clusterAddress === status.primaryAddress)
    // Only the connection to a primary outside this lab is known.
    if (!known) return undefined
    const primary = activeOf(known.cluster)
    if (!primary) return 'none of the nodes of its primary is active'
    const ask = (one: InProcessServer) => async () => one.replicationStatus(kind)
    return findLagBetween(ask(primary), ask(secondary))
  }
  for (const { image, servers } of clusters) {
    const name = servers[0]?.cluster
    for (const kind of image.streams) {
      const missing = await findMissing(activeOf(name), kind)
      if (missing !== undefined) return `${name} (${kind}): ${missing}`
    }
  }
  return undefined
}
