import type { Kind } from '../kinds.js'
import { findLagBetween } from '../replication.js'
import { type InProcessServer, isStreaming, type ServerImage } from '../runner/in-process.js'

/** All servers of a lab in this process at one moment, in memory. */
export type ServerImages = ReadonlyMap<InProcessServer, ServerImage>

/** Takes the images of all servers, which stop writing before the first is read. */
export const takeServerImages = async (servers: readonly InProcessServer[]): Promise<ServerImages> => {
  try {
    await Promise.all(servers.map((server) => server.pauseForImage()))
    return new Map(
      await Promise.all(
        servers.map(async (server): Promise<[InProcessServer, ServerImage]> => [server, await server.takeImage()]),
      ),
    )
  } finally {
    for (const server of servers) server.releaseFromImage()
  }
}

/**
 * Loads the images into their servers, all of which stand still before the first has its data. Servers that ran then
 * run afterwards, sealed where nobody has their keys. A primary is there before its secondaries dial it: those that do
 * not reach it would try again only after a pause.
 */
export const loadServerImages = async (images: ServerImages): Promise<void> => {
  const all = [...images]
  await Promise.all(all.map(([server, image]) => server.stopForImage(image)))
  for (const isTurn of TURNS) {
    const turn = all.filter(([, image]) => isTurn(image))
    await Promise.all(turn.map(([server, image]) => server.loadImage(image)))
  }
}

/** A primary of disaster recovery may itself be a secondary of performance replication, never the other way round. */
const TURNS: readonly ((image: ServerImage) => boolean)[] = [
  ({ streams }) => streams.length === 0,
  ({ streams }) => streams.includes('performance') && !streams.includes('dr'),
  ({ streams }) => streams.includes('dr'),
]

/** The first secondary that streamed when the images were taken and does not again, and why; undefined when all do. */
export const findUnreplicatedSince = async (images: ServerImages): Promise<string | undefined> => {
  for (const [server, { streams }] of images) {
    for (const kind of streams) {
      const missing = await findUnreplicated(server, kind, [...images.keys()])
      if (missing !== undefined) return `${server.name} (${kind}): ${missing}`
    }
  }
  return undefined
}

const findUnreplicated = async (
  server: InProcessServer,
  kind: Kind,
  servers: readonly InProcessServer[],
): Promise<string | undefined> => {
  const status = server.replicationStatus(kind)
  if (!isStreaming(status)) return `it does not stream yet (${status.state}, ${status.connection_state})`
  const primary = servers.find(({ clusterAddress }) => clusterAddress === status.primary_cluster_addr)
  // Of a primary that is not of this lab nothing more is known.
  if (!primary) return undefined
  const ask = (one: InProcessServer) => async () => one.replicationStatus(kind)
  return findLagBetween(ask(primary), ask(server), kind)
}
