import { type AnyLab, type ClusterAccess, serversIn, withAnonymousClient } from '../cluster.js'
import type { ClusterOfNodes, NodeAccess } from '../lifecycle/nodes.js'
import type { PageRequests } from './page-facts.js'

const ANSWER_MS = 1000

/** How many requests each server has had, by name; null for one that does not say, as a server of another kind. */
export const askRequests = async (lab: AnyLab): Promise<ReadonlyMap<string, PageRequests | null>> => {
  const servers = (lab.clusters as readonly ClusterOfNodes[]).flatMap((cluster) =>
    serversIn<NodeAccess>(cluster).map((server) => ({ cluster, server })),
  )
  return new Map(
    await Promise.all(
      servers.map(async ({ cluster, server: { name, apiAddress } }) => {
        const asked = await askServer(name, { ...cluster, apiAddress }).catch(() => null)
        return [name, asked] as const
      }),
    ),
  )
}

const askServer = (server: string, cluster: ClusterAccess): Promise<PageRequests | null> =>
  withAnonymousClient(
    cluster,
    async (client) => {
      const { json } = await client.send('GET', '/_understudy/v1/info')
      const { handled, refused } = (json?.requests ?? {}) as Partial<PageRequests>
      return typeof handled === 'number' && typeof refused === 'number' ? { server, handled, refused } : null
    },
    ANSWER_MS,
  )
