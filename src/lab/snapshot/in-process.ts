import type { InProcessServer, ServerImage } from '../runner/in-process.js'

/** All servers of a lab in this process at one moment, in memory. */
export type ServerImages = ReadonlyMap<InProcessServer, ServerImage>

/** All stop writing before the first is read. */
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

/** All stand still before the first has its data. Those that ran then run afterwards, sealed where nobody has their keys. */
export const loadServerImages = async (images: ServerImages): Promise<void> => {
  const all = [...images]
  await Promise.all(all.map(([server, image]) => server.stopForImage(image)))
  await Promise.all(all.map(([server, image]) => server.loadImage(image)))
}
