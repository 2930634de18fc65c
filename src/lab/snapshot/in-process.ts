import type { LabCluster } from '../in-process/in-process-cluster.js'
import type { ClusterKeys } from '../model/cluster.js'
import type { Kind } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import { findLagBetween } from '../requests/replication.js'
import { isStreaming } from '../requests/replication-status.js'
import type { InProcessServer, ServerImage } from '../runner/in-process.js'

/**
 * The images of all clusters of an in-process lab at one time, in memory. `image` is from the server that has all data
 * of its cluster: the single server or the active node.
 */
type LabImages = readonly {
  readonly image: ServerImage
  readonly servers: ReadonlyMap<InProcessServer, ServerState>
}[]

type ServerState = 'open' | 'sealed' | 'stopped'

/** The state of a lab at one time, in memory. */
export interface LabSnapshot {
  readonly images: LabImages
  readonly keys: ReadonlyMap<string, ClusterKeys>
  readonly skewMs: number
}

/** Takes the images of all clusters. All clusters stop writing before the first image is read. */
export const takeImages = async (clusters: readonly (readonly InProcessServer[])[]): Promise<LabImages> => {
  const sources = clusters.map((servers) => ({ servers, source: requireSource(servers) }))
  try {
    await Promise.all(sources.map(({ source }) => source.pauseForImage()))
    return await Promise.all(
      sources.map(async ({ servers, source }) => ({
        image: await source.takeImage(),
        servers: new Map(servers.map((server) => [server, stateOf(server)])),
      })),
    )
  } finally {
    for (const { source } of sources) source.releaseFromImage()
  }
}

/**
 * Returns the server that takes or loads the image of its cluster: the single server or the active node. Throws
 * LabError `conflict` if no node is active.
 */
const requireSource = (servers: readonly InProcessServer[]): InProcessServer => {
  const found = servers.length > 1 ? servers.find(({ isActive }) => isActive) : servers[0]
  if (found) return found
  const { cluster } = servers[0] ?? { cluster: '' }
  throw new LabError('conflict', `cluster ${cluster} has no active node: start and unseal its nodes first`)
}

const stateOf = (server: InProcessServer): ServerState =>
  server.isRunning ? (server.isSealed ? 'sealed' : 'open') : 'stopped'

/**
 * Loads the images into their clusters. All clusters stop before the first loads its data. A single server runs
 * afterwards if it ran when the image was taken. A multi-node cluster must have an active node, from which the other
 * running nodes copy the data. Servers without known keys stay sealed. Primaries start before their secondaries,
 * because a secondary retries a failed connection only after a pause.
 */
export const loadImages = async (images: LabImages): Promise<void> => {
  const all = images.map(({ image, servers }) => ({ image, servers, source: requireSource([...servers.keys()]) }))
  await Promise.all(all.map(({ source, image }) => source.stopForImage(image)))
  for (const position of [0, 1, 2]) {
    const next = all.filter(({ image }) => startOrderOf(image) === position)
    await Promise.all(next.map(({ source, image }) => source.loadImage(image)))
  }
  for (const { servers, image } of all) for (const server of servers.keys()) server.behaveAs(image)
}

/** Seals or stops the nodes that were sealed or stopped when the image was taken. Waits for an active node. */
export const restoreStates = async (
  cluster: LabCluster,
  states: ReadonlyMap<InProcessServer, ServerState>,
): Promise<void> => {
  for (const [server, state] of states) {
    const node = cluster.nodes.find(({ name }) => name === server.name)
    if (state === 'sealed') await node?.seal()
    if (state === 'stopped') await node?.stop()
  }
  await cluster.active()
}

/**
 * Returns the start position: primaries, then performance secondaries, which may be DR primaries, then DR secondaries.
 */
const startOrderOf = ({ streams }: ServerImage): number => (streams.includes('dr') ? 2 : streams.length)

/** Finds the first secondary that streamed when the images were taken but does not stream now, with the reason. */
export const findUnreplicatedSince = async (images: LabImages): Promise<string | undefined> => {
  const clusters = images.map(({ image, servers }) => ({ image, servers: [...servers.keys()] }))
  const active = clusters.flatMap(({ servers }) => servers.filter(({ isActive }) => isActive))
  const activeOf = (name: string | undefined) => active.find(({ cluster }) => cluster === name)
  const findMissing = async (secondary: InProcessServer | undefined, kind: Kind): Promise<string | undefined> => {
    if (!secondary) return 'none of its nodes is active'
    const status = secondary.replicationStatus(kind)
    if (!isStreaming(status)) return `it does not stream yet (${status.state}, ${status.connectionState})`
    const nodes = clusters.flatMap(({ servers }) => servers)
    const known = nodes.find(({ clusterAddress }) => clusterAddress === status.primaryAddress)
    // The lag behind a primary outside this lab is unknown.
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
