import { type AnyLab, type ClusterAccess, withAnonymousClient } from '../cluster.js'
import type { PageRequests } from './page-facts.js'

const ANSWER_MS = 1000

/** How many requests each cluster has had, by name; null for one that does not say, as a server of another kind. */
export const askRequests = async ({ clusters }: AnyLab): Promise<ReadonlyMap<string, PageRequests | null>> =>
  new Map(
    await Promise.all(
      clusters.map(async (cluster) => [cluster.name, await askCluster(cluster).catch(() => null)] as const),
    ),
  )

const askCluster = (cluster: ClusterAccess): Promise<PageRequests | null> =>
  withAnonymousClient(
    cluster,
    async (client) => {
      const { json } = await client.send('GET', '/_understudy/v1/info')
      const { handled, refused } = (json?.requests ?? {}) as Partial<PageRequests>
      return typeof handled === 'number' && typeof refused === 'number' ? { handled, refused } : null
    },
    ANSWER_MS,
  )
